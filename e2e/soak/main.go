// Command soak attaches probes to a program that checks its own results and takes them away again, over and over, and
// fails if a result was wrong or the program ended. Without -pid it is one that is started (-program):
// e2e/testdata/soak.c, which calls the C and the mathematical library, e2e/testdata/answers.rs, a server with clients
// that check its answers, or etcd, if it is installed.
//
//	go run ./e2e/soak -trocar bin/trocar -cycles 200
//	go run ./e2e/soak -minutes 10 -hold -program rust
//	go run ./e2e/soak -pid $PID -files /usr/sbin/nginx,libc -check 'curl -s localhost | grep -q hello' -cycles 200
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	var s soak
	flag.StringVar(&s.trocar, "trocar", "bin/trocar", "the tracer")
	flag.IntVar(&s.pid, "pid", 0, "the process to trace; 0: one of ours")
	name := flag.String("program", "c", "without -pid: what is started (c, rust, etcd)")
	files := flag.String("files", "", "the files whose functions are probed; empty: those that -program is about")
	flag.StringVar(&s.check, "check", "", "a shell command that fails if the process does wrong")
	flag.StringVar(&s.counts, "counts", "", `a file to which the process writes lines "RIGHT WRONG"`)
	flag.IntVar(&s.cycles, "cycles", 0, "how often probes are attached; 0: as often as -minutes allows")
	minutes := flag.Float64("minutes", 0, "for how long; 0: as long as -cycles takes")
	flag.BoolVar(&s.hold, "hold", false, "attach to all functions once, and stay for -minutes")
	seed := flag.Uint64("seed", 1, "of the choice of patterns")
	flag.Parse()
	s.random = rand.New(rand.NewPCG(*seed, 0))
	if *files != "" {
		s.files = strings.Split(*files, ",")
	}
	s.time = time.Duration(*minutes * float64(time.Minute))
	if s.cycles == 0 && s.time == 0 {
		s.cycles = 20
	}
	if err := s.run(*name); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// soak is a run.
type soak struct {
	trocar        string
	pid           int
	files         []string
	check, counts string
	cycles        int
	time          time.Duration
	hold          bool
	random        *rand.Rand

	probed, unmatched, killed int
	right                     uint64
}

func (s *soak) run(program string) error {
	if s.pid == 0 {
		end, err := s.start(program)
		if err != nil {
			return err
		}
		defer end()
	}
	if len(s.files) == 0 {
		return errors.New("with -pid, -files says whose functions are probed")
	}
	if err := s.sound(); err != nil {
		return fmt.Errorf("before anything was traced: %w", err)
	}
	first := s.right
	begin := time.Now()
	if s.hold {
		if err := s.cycle("*", true, true, s.time, 0); err != nil {
			return err
		}
	}
	for n := 0; !s.hold && (s.cycles == 0 || n < s.cycles) && (s.time == 0 || time.Since(begin) < s.time); n++ {
		pattern, entries, returns := s.choose()
		var end syscall.Signal
		switch { // it goes by itself, is asked to, or is not asked
		case n%5 == 3:
			end = syscall.SIGTERM
		case n%5 == 4:
			end = syscall.SIGKILL
			s.killed++
		}
		if err := s.cycle(pattern, entries, returns, 300*time.Millisecond, end); err != nil {
			return fmt.Errorf("cycle %d, pattern %s, entries %v, returns %v: %w", n, pattern, entries, returns, err)
		}
	}
	fmt.Printf("%d cycles in %v, %d of them without functions of the pattern, %d killed; %d results right, 0 wrong\n",
		s.probed, time.Since(begin).Round(time.Second), s.unmatched, s.killed, s.right-first)
	return nil
}

// choose makes a pattern of functions: all, or those that begin with a letter.
func (s *soak) choose() (pattern string, entries, returns bool) {
	const letters = "abcdefghijklmnopqrstuvwxyz_"
	pattern = "*"
	if i := s.random.IntN(len(letters) + 3); i < len(letters) {
		pattern = letters[i:i+1] + "*"
	}
	switch s.random.IntN(3) {
	case 0:
		return pattern, true, false
	case 1:
		return pattern, false, true
	}
	return pattern, true, true
}

// cycle attaches probes for a while, ends the tracer, and looks whether the program is sound.
func (s *soak) cycle(pattern string, entries, returns bool, stay time.Duration, end syscall.Signal) error {
	script := "config = { max_probes = 1000000; missing_probes = \"warn\" }\n" // a file may have none of a pattern
	for _, file := range s.files {
		if entries {
			script += "uprobe:" + file + ":" + pattern + " { @entries = count() }\n"
		}
		if returns {
			script += "uretprobe:" + file + ":" + pattern + " { @returns = count() }\n"
		}
	}
	if end == 0 {
		script += fmt.Sprintf("interval:ms:%d { exit() }\n", stay.Milliseconds())
	}
	var said bytes.Buffer
	cmd := exec.Command(s.trocar, "-p", strconv.Itoa(s.pid), "-e", script)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return err
	}
	if end != 0 { // in the midst of what it does, whatever that is
		time.Sleep(time.Duration(s.random.IntN(2000)) * time.Millisecond)
		_ = cmd.Process.Signal(end)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	err := s.during(done)
	if err != nil && cmd.ProcessState == nil { // it is still tracing
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-done
		return err
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 3:
		s.unmatched++
	case err != nil && end == 0:
		return fmt.Errorf("%w\n%.2000s", err, said.String())
	}
	s.probed++
	return s.sound()
}

// during waits for the tracer, whose error it gives, and in a long run looks meanwhile whether the program is sound.
func (s *soak) during(done <-chan error) error {
	for s.hold {
		select {
		case err := <-done:
			return err
		case <-time.After(time.Second):
			if err := s.sound(); err != nil {
				return err
			}
		}
	}
	return <-done
}

// sound tells whether the program runs, and has had right results only, some of them new.
func (s *soak) sound() error {
	before := s.right
	for wait := 0; ; wait++ {
		if err := syscall.Kill(s.pid, 0); err != nil {
			return fmt.Errorf("process %d has ended: %w", s.pid, err)
		}
		if s.check != "" {
			if out, err := exec.Command("sh", "-c", s.check).CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w\n%s", s.check, err, out)
			}
			if s.counts == "" {
				s.right++
				return nil
			}
		}
		if s.counts == "" {
			return nil
		}
		right, wrong, err := s.last()
		if err != nil {
			return err
		}
		if wrong > 0 {
			return fmt.Errorf("%d results were wrong", wrong)
		}
		if s.right = right; right > before {
			return nil
		}
		if wait == 600 {
			return fmt.Errorf("process %d has had no result for a minute", s.pid)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// last is the newest line of the counts.
func (s *soak) last() (right, wrong uint64, err error) {
	text, err := os.ReadFile(s.counts)
	if err != nil {
		return 0, 0, err
	}
	if i := bytes.Index(text, []byte("wrong:")); i >= 0 {
		return 0, 1, nil
	}
	lines := strings.Split(string(text[:bytes.LastIndexByte(text, '\n')+1]), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if _, err := fmt.Sscan(lines[i], &right, &wrong); err == nil {
			return right, wrong, nil
		}
	}
	return 0, 0, nil
}
