namespace hall {
struct Door {
    __attribute__((noinline, noipa)) int pass(int (*f)()) { return f() + 1; }
};
}
extern "C" __attribute__((noinline, noipa)) int through(int (*f)()) { return hall::Door().pass(f) + 1; }
