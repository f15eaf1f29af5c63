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
}

const redisPort, nginxPort = "56999", "56998"

func redisLoad(ctx context.Context) {
	_ = exec.CommandContext(ctx, "redis-benchmark", "-p", redisPort, "-n", "100000000", "-q").Run()
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
	{"C", built("c.c", cSource, "gcc", "-O2", "-fomit-frame-pointer", "-pthread"), nil},
	{"C static", built("s.c", cSource, "gcc", "-O2", "-fomit-frame-pointer", "-static", "-pthread"), nil},
	{"C static-pie", built("p.c", cSource, "gcc", "-O2", "-fomit-frame-pointer", "-static-pie", "-pthread"), nil},
	{"C stripped", built("t.c", cSource, "gcc", "-O2", "-fomit-frame-pointer", "-s", "-pthread"), nil},
	{"C clang", built("l.c", cSource, "clang", "-O2", "-fomit-frame-pointer", "-pthread"), nil},
	{"C musl", built("m.c", cSource, "musl-gcc", "-O2", "-fomit-frame-pointer", "-pthread"), nil},
	{"C musl static", built("n.c", cSource, "musl-gcc", "-O2", "-static", "-pthread"), nil},
	{"C++ exceptions", built("e.cc", cppSource, "g++", "-O2", "-std=c++20"), nil},
	{"Rust", built("r.rs", rustSource, "rustc", "-O", "-C", "debuginfo=1"), nil},
	{"bash", run("bash", "-c", `f() { if (($1 > 0)); then f $(($1 - 1)); else ((n++)); fi; }; while :; do f 5; done`), nil},
	{"python3", run("python3", "-c", "def f(n):\n return 1 if n < 2 else f(n-1) + f(n-2)\nwhile True: f(20)"), nil},
	{"perl", run("perl", "-e", `sub f { my $n = shift; $n < 2 ? 1 : f($n-1) + f($n-2) } while (1) { f(18) }`), nil},
	{"openssl", run("openssl", "speed", "-seconds", "600", "rsa2048"), nil},
	{"xz", run("sh", "-c", "exec xz -9 -c /dev/urandom >/dev/null"), nil},
	{"awk", run("awk", `BEGIN { while (1) { s = s + length(sprintf("%d", i++)) ; if (match("abcabcabd", "c.*d")) s++ } }`), nil},
	{"clang -O2", func(dir string) (*exec.Cmd, error) {
		src := filepath.Join(dir, "long.cc")
		text := "#include <regex>\n#include <map>\n#include <string>\n"
		for i := range 300 {
			text += fmt.Sprintf("bool f%d(std::string s) { return std::regex_match(s, std::regex(\"a%d\")); }\n", i, i)
		}
		if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
			return nil, err
		}
		return start(dir, "clang", "-O2", "-c", "-fintegrated-cc1", "-o", "/dev/null", src)
	}, nil},
	{"redis", run("redis-server", "--port", redisPort, "--save", ""), redisLoad},
	{"nginx", nginx, nginxLoad},
	{"postgres", postgres, nil},
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
