package match

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/types"
	"trocar/internal/need"
	"trocar/internal/process/probe"
)

func TestPrototypes(t *testing.T) {
	for _, c := range []struct {
		file, name string
		want       *types.Type
	}{
		{"/usr/lib/libc.so.6", "read", types.TInt64},
		{"/usr/lib/libc.so.6", "open64", types.TInt32},
		{"/usr/lib/libc.so.6", "fopen@@GLIBC_2.1", cPlace},
		{"/lib/ld-musl-x86_64.so.1", "getenv", cText},
		{"/usr/lib/libssl.so.3", "SSL_read", types.TInt32},
		{"/usr/lib/libssl.so.3", "read", nil},
		{"/usr/bin/libc.so", "exit", nil},
		{"/usr/lib/libc-2.31.so", "read", types.TInt64},
		{"/usr/lib/libpthread.so.0", "read", types.TInt64},
		{"/usr/lib/libc.musl-x86_64.so.1", "read", types.TInt64},
		{"/usr/lib/libssl.so.1.0.2k", "SSL_read", types.TInt32},
		{"/usr/lib/libpthreadpool.so", "read", nil},
		{"/usr/lib/libpthread_workqueue.so.0", "read", nil},
		{"/usr/lib/libc.solver.so", "read", nil},
		{"/usr/lib/libssl.socket.so", "SSL_read", nil},
		{"./read", "read", nil},
	} {
		if got := resultOf(c.file, c.name); got != c.want {
			t.Errorf("%s:%s returns %v, want %v", c.file, c.name, got, c.want)
		}
	}
	// A function is in one list only.
	for _, lib := range knownResults {
		seen := map[string]bool{}
		for _, p := range lib.results {
			for name := range strings.FieldsSeq(p.names) {
				if seen[name] {
					t.Errorf("%s is listed twice", name)
				}
				seen[name] = true
			}
		}
	}
}

// TestPrototypeParams: functions of the C library that are system calls have their parameters, where C passes them.
func TestPrototypeParams(t *testing.T) {
	shown := func(a *abi.Arch, file, function string) string {
		var list []string
		for _, v := range paramsOf(a, file, function) {
			name, _ := a.ScriptName(v.Place.Reg)
			list = append(list, fmt.Sprintf("%s:%s %s", name, v.Name, v.Type))
		}
		return strings.Join(list, ", ")
	}
	x86, arm := abi.AMD64, abi.ARM64
	for _, c := range []struct {
		arch                 *abi.Arch
		file, function, want string
	}{
		{x86, "/usr/lib/libc.so.6", "open64@@GLIBC_2.2.5", "di:filename char *, si:flags open"},
		{x86, "/lib/ld-musl-x86_64.so.1", "waitpid", "di:upid int32, si:stat_addr void *, dx:options wait"},
		{x86, "/usr/lib/libc.so.6", "splice", "di:fd_in int32, si:off_in void *, dx:fd_out int32, cx:off_out void *, " +
			"r8:len uint64, r9:flags splice"},
		{x86, "/usr/lib/libc.so.6", "nanosleep", "di:rqtp timespec *, si:rmtp void *"},
		{arm, "/usr/lib/libc.so.6", "write", "r0:fd int32, r1:buf void *, r2:count uint64"},
		{x86, "/usr/lib/libc.so.6", "clone", ""},
		{x86, "/usr/lib/libpthreadpool.so", "write", ""},
		{x86, "/usr/lib/libc.so.6", "eventfd", "di:count uint32, si:flags eventfd"},
		{x86, "/usr/lib/libc.so.6", "ope", ""},
		{x86, "/usr/lib/libm.so.6", "read", ""},
		{nil, "/usr/lib/libc.so.6", "read", ""},
	} {
		if got := shown(c.arch, c.file, c.function); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.function, c.file, got, c.want)
		}
	}
}

// TestPrototypesAreTheLibrarys compares results and parameters with the prototypes of the C library's headers, which a
// compiler reads: how many there are, whether they are addresses, their sizes and signs.
func TestPrototypesAreTheLibrarys(t *testing.T) {
	const source = `#define _GNU_SOURCE 1
#define _LARGEFILE64_SOURCE 1
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS 1
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <type_traits>
template <class T, bool = std::is_enum<T>::value> struct plain { typedef T type; };
template <class T> struct plain<T, true> { typedef typename std::underlying_type<T>::type type; };
template <class T> void one() {
	typedef typename plain<T>::type P;
	if (std::is_pointer<P>::value) printf(" p");
	else printf(" %c%d", std::is_signed<P>::value ? 's' : 'u', (int)sizeof(T));
}
template <class R, class... A> void show(const char *n, R (*)(A...)) {
	printf("%s", n); one<R>(); int x[] = {0, (one<A>(), 0)...}; (void)x; puts("");
}
template <class R, class... A> void show(const char *n, R (*)(A..., ...)) {
	printf("%s", n); one<R>(); int x[] = {0, (one<A>(), 0)...}; (void)x; puts(" ...");
}
int main() {
`
	// Of these C++ has two each, or none; pidfd_open is in no header of libraries before 2.36.
	left := []string{"memchr", "strchr", "strrchr", "strstr", "gets", "pidfd_open"}
	var b strings.Builder
	b.WriteString(source)
	known := map[string]*types.Type{}
	for _, p := range knownResults[0].results {
		for name := range strings.FieldsSeq(p.names) {
			if known[name] = p.result; !slices.Contains(left, name) {
				fmt.Fprintf(&b, "\tshow(\"%s\", &::%[1]s);\n", name)
			}
		}
	}
	b.WriteString("}\n")
	dir := t.TempDir()
	file, prog := filepath.Join(dir, "all.cc"), filepath.Join(dir, "all")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if msg, err := exec.Command(need.Tool(t, "g++"), "-std=c++17", "-w", "-o", prog, file).CombinedOutput(); err != nil {
		t.Fatalf("%s\n%s", err, msg)
	}
	out, err := exec.Command(prog).Output()
	if err != nil {
		t.Fatal(err)
	}
	same := func(v *types.Type, c string) bool {
		size := strings.TrimLeft(c, "su")
		return c == "p" && v.Kind == types.Pointer ||
			fmt.Sprint(v.Size) == size && (v.Kind == types.Enum || v.Kind == types.Int && v.Signed == (c[0] == 's'))
	}
	withParams := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		name, result, params := words[0], words[1], words[2:]
		if !same(known[name], result) {
			t.Errorf("%s returns %s, not %s", name, result, known[name])
		}
		c := libraryCall(abi.AMD64, "libc.so.6", name)
		if c == nil {
			continue
		}
		withParams++
		if n := len(params); n > 0 && params[n-1] == "..." {
			params = params[:n-1]
			if !c.Vararg {
				t.Errorf("%s may be given more", name)
			}
		}
		vars := paramsOf(abi.AMD64, "libc.so.6", name)
		if len(vars) != len(params) {
			t.Errorf("%s has %d parameters, not %d", name, len(params), len(vars))
			continue
		}
		for i, v := range vars {
			if !same(v.Type, params[i]) && name+" "+v.Name != "ioctl cmd" { // as the kernel has it
				t.Errorf("%s: %s is %s, not %s of %d bytes", name, v.Name, params[i], v.Type, v.Type.Size)
			}
		}
	}
	if withParams < 110 {
		t.Errorf("only %d functions with parameters were compared", withParams)
	}
}

// TestPrototypeTexts: which registers have the addresses of texts at a function's entry and where it returns.
func TestPrototypeTexts(t *testing.T) {
	a := abi.AMD64
	all, _, _ := a.Passing()
	for _, c := range []struct {
		function string
		kind     probe.Kind
		register int
	}{
		{"open", probe.Uprobe, a.C.Args[0]},
		{"getcwd", probe.Uretprobe, a.C.Result},
		{"getcwd", probe.Uprobe, -1},
		{"read", probe.Uretprobe, -1},
	} {
		var want types.TextWord
		if c.register >= 0 {
			want.Add(slices.Index(all, c.register), -1)
		}
		if got := textsOf(a, &probe.Point{Kind: c.kind, Path: "/lib/libc.so.6", Func: c.function}); got != want {
			t.Errorf("%s %v: %x, want %x", c.function, c.kind, got, want)
		}
	}
}
