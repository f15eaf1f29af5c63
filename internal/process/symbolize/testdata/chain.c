/* Tells of stacks of its own: "stack IP RETURN RETURN…", and does what it is told by its standard input, a line each:
   s: a stack; l: load the library and a stack through it; x: execute itself anew; f: fork a child that does a stack and
   goes on; j: a stack below code made at run time; q: end. Built with frame pointers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char **args;

__attribute__((noinline, noipa)) int stack(void)
{
    void **fp = __builtin_frame_address(0);
    printf("stack %d %p", (int)getpid(), (void *)stack);
    for (int i = 0; i < 4; i++) {
        void **outer = fp[0];
        printf(" %p", fp[1]);
        if (outer <= fp)
            break;
        fp = outer;
    }
    printf("\n");
    fflush(stdout);
    return 1;
}

__attribute__((noinline, noipa)) int branch(void) { return stack() + 1; }
static __attribute__((noinline, noipa)) int trunk(void) { return branch() + 1; }

/* Its call is its last instruction: the return address is the next function's. */
__attribute__((noinline, noipa, noreturn)) void stop(void) { stack(); trunk(); exit(0); }

static void generated(void)
{
    unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("code %d %p\n", (int)getpid(), (void *)code);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char line[512];
    args = argv;
    (void)argc;
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        switch (line[0]) {
        case 's': trunk(); break;
        case 'l': {
            line[strcspn(line, "\n")] = 0;
            void *lib = dlopen(line + 2, RTLD_NOW);
            if (!lib) { printf("error %s\n", dlerror()); return 1; }
            int (*through)(int (*)(void)) = (int (*)(int (*)(void)))dlsym(lib, "through");
            through(stack);
            break;
        }
        case 'x': execv("/proc/self/exe", args); return 1;
        case 'f': if (fork()) { sleep(1); break; } stack(); _exit(0);
        case 'j': generated(); break;
        case 'n': stop();
        case 'q': return 0;
        }
    }
    return 0;
}
