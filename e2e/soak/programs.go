package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// program is one that is started to be traced.
type program struct {
	files   []string // whose functions are probed
	command []string
	check   string // see soak
	counts  bool   // it writes lines "RIGHT WRONG"
}

// programs make them, in a folder of their own.
var programs = map[string]func(dir string) (*program, error){
	"c": func(dir string) (*program, error) {
		path, err := build(dir, "soak.c", "gcc", "-O2", "-g", "-pthread")
		return &program{files: []string{"libc", "libm"}, command: []string{path}, counts: true}, err
	},
	"rust": func(dir string) (*program, error) {
		path, err := build(dir, "answers.rs", "rustc", "-O", "-g")
		return &program{files: []string{path, "libc"}, command: []string{path}, counts: true}, err
	},
	"etcd": func(dir string) (*program, error) {
		path, err := exec.LookPath("etcd")
		if err != nil {
			return nil, err
		}
		client, err := freeAddress()
		if err != nil {
			return nil, err
		}
		peer, err := freeAddress()
		if err != nil {
			return nil, err
		}
		call := "ETCDCTL_API=3 etcdctl --command-timeout=60s --endpoints " + client
		return &program{
			files: []string{path},
			command: []string{
				path, "--data-dir", filepath.Join(dir, "data"), "--listen-peer-urls", peer,
				"--listen-client-urls", client, "--advertise-client-urls", client,
			},
			check: `for i in 1 2 3; do v=$(date +%N)$i; ` + call + ` put k "$v" >/dev/null && ` +
				`[ "$(` + call + ` get k --print-value-only)" = "$v" ] || exit 1; done`,
		}, nil
	},
}

// build compiles a program of testdata.
func build(dir, name string, compiler ...string) (path string, err error) {
	source := filepath.Join("e2e/testdata", name)
	if _, err := os.Stat(source); err != nil {
		source = filepath.Join("testdata", name) // from the folder of the tests
	}
	path = filepath.Join(dir, "program")
	args := append(compiler[1:], "-o", path, source)
	if compiler[0] == "gcc" {
		args = append(args, "-lm")
	}
	if out, err := exec.Command(compiler[0], args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", compiler[0], err, out)
	}
	return path, nil
}

// freeAddress is one on which nobody listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return "http://" + l.Addr().String(), nil
}

// start starts a program.
func (s *soak) start(name string) (end func(), err error) {
	prepare, ok := programs[name]
	if !ok {
		return nil, fmt.Errorf("there is no program %q", name)
	}
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	p, err := prepare(dir)
	if err != nil {
		return nil, err
	}
	said := filepath.Join(dir, "said")
	out, err := os.Create(said)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(p.command[0], p.command[1:]...)
	cmd.Stdout = out
	if !p.counts {
		cmd.Stderr = out
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s.pid = cmd.Process.Pid
	if p.counts {
		s.counts = said
	}
	if s.check == "" {
		s.check = p.check
	}
	if len(s.files) == 0 {
		s.files = p.files
	}
	end = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		os.RemoveAll(dir)
	}
	if p.check != "" { // it listens
		for range 100 {
			if exec.Command("sh", "-c", p.check).Run() == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return end, nil
}
