// Thread-local variables of a library: of one that is there from the start, or (-DLATE) is loaded late.
#ifdef LATE
static __thread int far = 1000;
__thread int seen = 20;
__attribute__((noinline)) int beside(int id) { asm volatile("" : "+r"(id) :: "memory"); return id; }
int late(int id) { far += id; seen += 2 * id; beside(id); return far; }
#else
__thread long shared = 50;
int step(int by) { shared += by; asm volatile("" ::: "memory"); return shared; }
#endif
