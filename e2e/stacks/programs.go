package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// program is one that is compared.
type program struct {
	name  string
	start func(dir string) (*exec.Cmd, error)
	load  func(ctx context.Context) // gives a server what to do
	// managed: a runtime makes its code.
	managed bool
}

const redisPort, nginxPort = "56999", "56998"

func redisLoad(ctx context.Context) {
	for ctx.Err() == nil { // the server may not listen yet
		_ = exec.CommandContext(ctx, "redis-benchmark", "-p", redisPort, "-n", "100000000", "-q").Run()
		time.Sleep(100 * time.Millisecond)
	}
}

func nginxLoad(ctx context.Context) {
	for ctx.Err() == nil {
		res, err := http.Get("http://127.0.0.1:" + nginxPort + "/")
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
}

// nginx is a server of one process.
func nginx(dir string) (*exec.Cmd, error) {
	conf := filepath.Join(dir, "nginx.conf")
	text := "daemon off; master_process off; pid " + dir + "/nginx.pid; error_log " + dir + "/nginx.log;\nevents {}\n" +
		"http { access_log " + dir + "/access.log; server { listen " + nginxPort + "; root /usr/share; autoindex on; } }\n"
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		return nil, err
	}
	return run("nginx", "-c", conf, "-e", dir+"/nginx.log")(dir)
}

// postgres answers queries of its standard input in one process. It does not run as root.
func postgres(dir string) (*exec.Cmd, error) {
	const nobody = 65534
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	data := filepath.Join(dir, "postgres")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(data, 0o700), os.Chown(data, nobody, nobody)); err != nil {
		return nil, err
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return nil, exec.ErrNotFound
	}
	initdb := exec.Command(found[0], "-D", data, "-N")
	initdb.SysProcAttr = attr
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	cmd := exec.Command(filepath.Join(filepath.Dir(found[0]), "postgres"), "--single", "-D", data, "template1")
	cmd.SysProcAttr = attr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		for {
			const query = "select a % 100, count(*), max(md5(a::text)) from generate_series(1, 20000) a group by 1 order by 2\n"
			if _, err := io.WriteString(in, query); err != nil {
				return
			}
		}
	}()
	return cmd, nil
}

// run is a program that is installed.
func run(args ...string) func(string) (*exec.Cmd, error) {
	return func(dir string) (*exec.Cmd, error) {
		if _, err := exec.LookPath(args[0]); err != nil {
			return nil, err
		}
		return start(dir, args...)
	}
}

// built is a program made of a source by a compiler, whose last arguments are added.
func built(name, source string, compiler ...string) func(string) (*exec.Cmd, error) {
	return func(dir string) (*exec.Cmd, error) {
		src, bin := filepath.Join(dir, name), filepath.Join(dir, "bin-"+name)
		if err := os.WriteFile(src, []byte(source), 0o644); err != nil {
			return nil, err
		}
		args := append(compiler[1:len(compiler):len(compiler)], "-o", bin, src)
		if out, err := exec.Command(compiler[0], args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
		return start(dir, bin)
	}
}

var programs = []program{
	{name: "C", start: built("c.c", cSource, "gcc", "-O2", "-fomit-frame-pointer", "-pthread")},
	{name: "C static", start: built("s.c", cSource, "gcc", "-O2", "-fomit-frame-pointer", "-static", "-pthread")},
	{name: "C static-pie", start: built("p.c", cSource, "gcc", "-O2", "-fomit-frame-pointer", "-static-pie", "-pthread")},
	{name: "C stripped", start: built("t.c", cSource, "gcc", "-O2", "-fomit-frame-pointer", "-s", "-pthread")},
	{name: "C clang", start: built("l.c", cSource, "clang", "-O2", "-fomit-frame-pointer", "-pthread")},
	{name: "C musl", start: built("m.c", cSource, "musl-gcc", "-O2", "-fomit-frame-pointer", "-pthread")},
	{name: "C musl static", start: built("n.c", cSource, "musl-gcc", "-O2", "-static", "-pthread")},
	{name: "C++ exceptions", start: built("e.cc", cppSource, "g++", "-O2", "-std=c++20")},
	{name: "Rust", start: built("r.rs", rustSource, "rustc", "-O", "-C", "debuginfo=1")},
	{name: "bash", start: run("bash", "-c", `f() { if (($1 > 0)); then f $(($1 - 1)); else ((n++)); fi; }; while :; do f 5; done`)},
	{name: "python3", start: run("python3", "-c",
		"def f(n):\n return 1 if n < 2 else f(n-1) + f(n-2)\nwhile True: f(20)")},
	{name: "python3 callbacks", start: run("python3", "-c",
		"def f(n):\n return 1 if n < 2 else sum(map(f, sorted((n-1, n-2), key=lambda a: -a)))\nwhile True: f(12)")},
	{name: "perl", start: run("perl", "-e", `sub f { my $n = shift; $n < 2 ? 1 : f($n-1) + f($n-2) } while (1) { f(18) }`)},
	{name: "openssl", start: run("openssl", "speed", "-seconds", "600", "rsa2048")},
	{name: "xz", start: run("sh", "-c", "exec xz -9 -c /dev/urandom >/dev/null")},
	{name: "awk", start: run("awk", `BEGIN { while (1) { s = s + length(sprintf("%d", i++)) ; if (match("abcabcabd", "c.*d")) s++ } }`)},
	{name: "clang -O2", start: func(dir string) (*exec.Cmd, error) {
		src := filepath.Join(dir, "long.cc")
		text := "#include <regex>\n#include <map>\n#include <string>\n"
		for i := range 300 {
			text += fmt.Sprintf("bool f%d(std::string s) { return std::regex_match(s, std::regex(\"a%d\")); }\n", i, i)
		}
		if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
			return nil, err
		}
		return start(dir, "clang", "-O2", "-c", "-fintegrated-cc1", "-o", "/dev/null", src)
	}},
	{name: "redis", start: run("redis-server", "--port", redisPort, "--save", ""), load: redisLoad},
	{name: "nginx", start: nginx, load: nginxLoad},
	{name: "postgres", start: postgres},
	{name: "Go with cgo", start: func(dir string) (*exec.Cmd, error) {
		src := filepath.Join(dir, "cgo.go")
		if err := os.WriteFile(src, []byte(cgoSource), 0o644); err != nil {
			return nil, err
		}
		build := exec.Command("go", "build", "-o", filepath.Join(dir, "bin-cgo"), src)
		build.Env = append(os.Environ(), "CGO_ENABLED=1", "CGO_CFLAGS=-O2 -fomit-frame-pointer")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
		return start(dir, filepath.Join(dir, "bin-cgo"))
	}},
	{name: "C++ coroutines", start: built("co.cc", coroutineSource, "g++", "-O2", "-std=c++20")},
	{
		name: "node", start: run("node", "--perf-basic-prof", "--interpreted-frames-native-stack", "-e", nodeSource),
		managed: true,
	},
	{name: "OpenJDK", start: func(dir string) (*exec.Cmd, error) {
		src := filepath.Join(dir, "Hot.java")
		if err := os.WriteFile(src, []byte(javaSource), 0o644); err != nil {
			return nil, err
		}
		return run("java", "-XX:+PreserveFramePointer", src)(dir)
	}, managed: true},
}

const cSource = `#include <alloca.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#define NOINLINE __attribute__((noinline))
static volatile int sink;
NOINLINE int work(int n)
{
	char text[64];
	snprintf(text, sizeof text, "%d %f", n, n / 3.0);
	return strlen(text) + sink;
}
NOINLINE int aligned(int n)
{
	volatile char wide[64] __attribute__((aligned(64)));
	char *some = alloca(n * 16 + 1);
	wide[0] = some[0] = n;
	return n > 0 ? aligned(n - 1) + wide[0] + some[0] : work(n) + wide[0];
}
NOINLINE int deep(int n) { return n ? deep(n - 1) * 3 + work(n) : aligned(3); }
static int compare(const void *a, const void *b)
{
	sink += deep(3);
	return *(const int *)a - *(const int *)b;
}
static void tick(int signal) { sink += deep(2) + signal; }
static void *thread(void *arg)
{
	for (;;) {
		int some[] = {3, 1, 2, 9, 4};
		qsort(some, 5, sizeof some[0], compare);
		struct timespec now;
		clock_gettime(CLOCK_MONOTONIC, &now);
		sink += now.tv_nsec & 1;
		free(malloc(100));
	}
}
int main(void)
{
	static char stack[1 << 16];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
	sigaltstack(&alternate, NULL);
	struct sigaction action = {.sa_handler = tick, .sa_flags = SA_ONSTACK | SA_RESTART};
	sigaction(SIGALRM, &action, NULL);
	struct itimerval often = {{0, 50000}, {0, 50000}};
	setitimer(ITIMER_REAL, &often, NULL);
	pthread_t t;
	pthread_create(&t, NULL, thread, NULL);
	thread(NULL);
}
`

const cppSource = `#include <algorithm>
#include <coroutine>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>
struct Guard { int &n; ~Guard() { n++; } };
static int sink;
__attribute__((noinline)) int thrower(int n)
{
	Guard g{sink};
	if (n == 0)
		throw std::runtime_error("deep");
	return thrower(n - 1) + 1;
}
struct Task {
	struct promise_type {
		Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() {}
	};
	std::coroutine_handle<promise_type> h;
};
Task counting(int n)
{
	for (int i = 0; i < n; i++) {
		std::map<int, std::string> m;
		for (int k = 0; k < 20; k++)
			m[k * 7 % 20] = std::to_string(k);
		sink += m.size();
		co_await std::suspend_always{};
	}
}
int main()
{
	std::regex r("(a|b)*c");
	for (;;) {
		try {
			thrower(10);
		} catch (std::exception &e) {
			sink++;
		}
		std::vector<int> v(200);
		for (auto &x : v)
			x = sink = sink * 1103515245 + 12345;
		std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
		sink += std::regex_match("abababababc", r);
		auto t = counting(3);
		while (!t.h.done())
			t.h.resume();
		t.h.destroy();
	}
}
`

const rustSource = `use std::collections::HashMap;
#[inline(never)]
fn deep(n: u32, m: &mut HashMap<String, u32>) -> u32 {
    if n == 0 {
        for i in 0..10 { *m.entry(format!("{}", i)).or_insert(0) += 1; }
        return m.len() as u32;
    }
    deep(n - 1, m).wrapping_add(n)
}
fn main() {
    let t = std::thread::spawn(|| {
        let mut m = HashMap::new();
        loop { std::hint::black_box(deep(12, &mut m)); }
    });
    let mut v: Vec<u32> = (0..500).collect();
    let mut m = HashMap::new();
    loop {
        v.sort_by(|a, b| (a ^ 77).cmp(&(b ^ 77)));
        v.reverse();
        std::hint::black_box(deep(5, &mut m));
        if v.is_empty() { break; }
    }
    t.join().unwrap();
}
`

// cgoSource has C call Go, and Go C.
const cgoSource = `package main

/*
#include <stdlib.h>
int compare(void *, void *);
static int cmp(const void *a, const void *b) { return compare((void *)a, (void *)b); }
static void sort(int *v, int n) { qsort(v, n, sizeof *v, cmp); }
static int deep(int n) { volatile int x = n; return n ? deep(n - 1) + x : 1; }
static int sum(int n) { int s = 0; for (int i = 0; i < 2000; i++) s += deep(n); return s; }
*/
import "C"

import (
	"sort"
	"unsafe"
)

//export compare
func compare(a, b unsafe.Pointer) C.int {
	x, y := *(*int32)(a), *(*int32)(b)
	return C.int(fib(int(x-y)&7)) - C.int(fib(3))
}

//go:noinline
func fib(n int) int {
	if n < 2 {
		return 1
	}
	return fib(n-1) + fib(n-2)
}

func main() {
	go func() {
		for {
			s := make([]int, 500)
			for i := range s {
				s[i] = fib(i % 9)
			}
			sort.Ints(s)
		}
	}()
	for {
		v := []C.int{5, 3, 9, 1, 7, 2}
		C.sort(&v[0], C.int(len(v)))
		C.sum(20)
	}
}
`

const coroutineSource = `#include <coroutine>
#include <exception>
#include <utility>
template <class T> struct Task {
	struct promise_type {
		T value{};
		std::coroutine_handle<> waiter;
		Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		struct Final {
			bool await_ready() noexcept { return false; }
			std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
				return h.promise().waiter ? h.promise().waiter : std::noop_coroutine();
			}
			void await_resume() noexcept {}
		};
		Final final_suspend() noexcept { return {}; }
		void return_value(T v) { value = v; }
		void unhandled_exception() { std::terminate(); }
	};
	std::coroutine_handle<promise_type> h;
	explicit Task(std::coroutine_handle<promise_type> h) : h(h) {}
	Task(Task &&o) : h(std::exchange(o.h, {})) {}
	~Task() { if (h) h.destroy(); }
	bool await_ready() { return false; }
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> w) { h.promise().waiter = w; return h; }
	T await_resume() { return h.promise().value; }
};
static volatile int sink;
__attribute__((noinline)) int leaf(int n)
{
	int s = 0;
	for (int i = 0; i < 200; i++)
		s += i * n ^ sink;
	return s;
}
Task<int> inner(int n)
{
	if (n == 0)
		co_return leaf(3);
	int below = co_await inner(n - 1);
	co_return below + leaf(n);
}
Task<int> outer() { int s = 0; for (int i = 0; i < 5; i++) s += co_await inner(i); co_return s; }
int main()
{
	for (;;) {
		auto t = outer();
		t.h.resume();
		sink += t.h.promise().value;
	}
}
`

const nodeSource = `function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function work() { JSON.parse(JSON.stringify([...Array(50).keys()])); return [3, 1, 2].sort((a, b) => fib(9) + a - b); }
for (;;) { fib(15); work(); }`

const javaSource = `import java.util.*;
public class Hot {
	static int fib(int n) { return n < 2 ? 1 : fib(n - 1) + fib(n - 2); }
	static long maps() {
		Map<String, Integer> m = new HashMap<>();
		for (int i = 0; i < 200; i++) m.merge("k" + i % 37, fib(i % 12), Integer::sum);
		return m.values().stream().mapToInt(Integer::intValue).sum();
	}
	public static void main(String[] a) {
		new Thread(() -> { for (long s = 0; ; ) s += maps(); }).start();
		for (long s = 0; ; ) s += fib(20) + maps();
	}
}
`
