// Command stacks compares the call stacks that trocar takes with those that gdb sees, frame by frame:
//
//	go run ./e2e/stacks [-tracer bin/trocar] [-n 100] [NAME…]
//	go run ./e2e/stacks -p PID
//	go run ./e2e/stacks -beside [-bpftrace PATH] [NAME…]
//
// Programs run under gdb. The tracer samples them and sends each sampled thread a signal, on which gdb stops the
// program at the same instruction and writes down where every frame is. Of samples in the kernel that is so as well,
// where the signal does not change what the thread goes on with. It needs root and gdb; it writes a table, and fails
// if less than 99.5 per cent of the stacks are equal. Of code that a runtime makes gdb knows nothing: there, and with
// -beside everywhere, it is told how many stacks are whole, beside those of perf and bpftrace.
package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed frames.py
var framesScript string

func main() {
	tracer := flag.String("tracer", "bin/trocar", "the tracer")
	samples := flag.Int("n", 100, "samples of each program")
	pid := flag.Int("p", 0, "a process that runs, instead of programs of our own")
	verbose := flag.Bool("v", false, "show stacks that are not equal")
	beside := flag.Bool("beside", false, "tell how many stacks are whole, of other tools as well")
	bpftrace := flag.String("bpftrace", "bpftrace", "bpftrace, for -beside")
	flag.Parse()
	dir, err := os.MkdirTemp("", "stacks-")
	if err != nil {
		fail(err)
	}
	defer os.RemoveAll(dir)
	c := comparer{tracer: *tracer, bpftrace: *bpftrace, dir: dir, samples: *samples, verbose: *verbose}
	var all counts
	heads := []any{"program", "stacks", "equal", "equal so far", "differ", "frames", "gdb lost", "told"}
	if *beside {
		heads = []any{"program: whole stacks, %"}
		for _, tool := range besides {
			heads = append(heads, tool.name)
		}
	}
	row(heads...)
	run := func(name string, pid int, managed bool) {
		if *beside || managed {
			row(append([]any{name}, c.beside(pid)...)...)
			return
		}
		n, err := c.compare(pid)
		if err != nil {
			fmt.Printf("%-28s %v\n", name, err)
			return
		}
		row(name, n.total, n.equal, n.shorter, n.total-n.equal-n.shorter, n.frames/max(1, n.total), n.lost, n.told)
		all.total, all.equal, all.shorter = all.total+n.total, all.equal+n.equal, all.shorter+n.shorter
		all.lost += n.lost
	}
	if *pid != 0 {
		run("process "+strconv.Itoa(*pid), *pid, false)
	} else {
		for _, p := range programs {
			if flag.NArg() > 0 && !slices.Contains(flag.Args(), p.name) {
				continue
			}
			cmd, err := p.start(dir)
			if err != nil {
				fmt.Printf("%-28s %v\n", p.name, err)
				continue
			}
			ctx, end := context.WithCancel(context.Background())
			if p.load != nil {
				go p.load(ctx)
			}
			time.Sleep(time.Second) // its start is not what we want to see
			run(p.name, cmd.Process.Pid, p.managed)
			end()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	if *beside {
		return
	}
	row("all", all.total, all.equal, all.shorter, all.total-all.equal-all.shorter, "", all.lost, "")
	if all.total == 0 || float64(all.equal+all.shorter) < 0.995*float64(all.total) {
		os.RemoveAll(dir)
		os.Exit(1)
	}
}

func row(cells ...any) {
	for i, width := range []int{28, 14, 14, 14, 14, 8, 8, 0} {
		if i < len(cells) {
			fmt.Printf("%-*v ", width, cells[i])
		}
	}
	fmt.Println()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "stacks:", err)
	os.Exit(1)
}

// comparer has what a comparison needs.
type comparer struct {
	tracer, dir string
	bpftrace    string
	samples     int
	verbose     bool
}

// counts are what was compared.
type counts struct {
	total, equal int
	// shorter are those of which one ends early and the other goes on: at the tracer's limit of frames, or where gdb
	// finds no caller.
	shorter int
	// lost are those that gdb leads through addresses where no code is. They are not compared.
	lost   int
	frames int
	told   string
}

// stack is one of a thread.
type stack struct {
	thread int
	frames []uint64
	loops  []uint64 // those of them in which an interpreter executes functions, which may have frames instead
}

// limit is the tracer's, of frames.
const limit = 127

func (c *comparer) compare(pid int) (n counts, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	ours, theirs := filepath.Join(c.dir, "ours"), filepath.Join(c.dir, "theirs")
	script := filepath.Join(c.dir, "frames.py")
	if err := os.WriteFile(script, []byte(framesScript), 0o644); err != nil {
		return n, err
	}
	attached := filepath.Join(c.dir, "attached")
	_ = os.Remove(attached)
	_ = os.Remove(theirs)
	gdb := exec.CommandContext(ctx, "gdb", "-q", "-nx", "-batch", "-p", strconv.Itoa(pid), "-x", script)
	gdb.Env = append(os.Environ(), "STACKS_OUT="+theirs, "STACKS_ATTACHED="+attached, "STACKS_N="+strconv.Itoa(c.samples))
	log, err := os.Create(filepath.Join(c.dir, "gdb.log"))
	if err != nil {
		return n, err
	}
	defer log.Close()
	gdb.Stdout, gdb.Stderr = log, log
	if err := gdb.Start(); err != nil {
		return n, err
	}
	for i := 0; ; i++ {
		if _, err := os.Stat(attached); err == nil {
			break
		}
		if i > 600 {
			_ = gdb.Process.Kill()
			_ = gdb.Wait()
			return n, errors.New("gdb does not attach")
		}
		time.Sleep(100 * time.Millisecond)
	}
	var told strings.Builder
	code, err := codeOf(pid) // a signal that comes when gdb has let go ends it
	if err != nil {
		return n, err
	}
	trace := exec.Command(c.tracer, "-q", "--unsafe", "-o", ours, "-p", strconv.Itoa(pid), "-e",
		`profile:hz:43 { printf("%d\n%s--\n", tid, ustack(raw)); signal("SIGXCPU"); }`)
	trace.Stderr = &told
	if err := trace.Start(); err != nil {
		_ = gdb.Process.Kill()
		_ = gdb.Wait()
		return n, err
	}
	gdbErr := gdb.Wait() // what it has written in time is compared
	_ = trace.Process.Signal(os.Interrupt)
	if err := trace.Wait(); err != nil {
		return n, fmt.Errorf("%w: %s", err, told.String())
	}
	if _, err := os.Stat(theirs); err != nil {
		text, _ := os.ReadFile(log.Name())
		return n, fmt.Errorf("gdb: %v: %s", gdbErr, text)
	}
	a, err := read(ours, true)
	if err != nil {
		return n, err
	}
	b, err := read(theirs, false)
	if err != nil {
		return n, err
	}
	for i := range b {
		if end := slices.Index(b[i].frames, 0); end >= 0 { // below a goroutine's first function
			b[i].frames = b[i].frames[:end]
		}
	}
	whole := slices.DeleteFunc(b, func(s stack) bool {
		return slices.ContainsFunc(s.frames, func(pc uint64) bool { return !code(pc) })
	})
	lost := len(b) - len(whole)
	n = c.pair(a, whole)
	n.lost = lost
	n.told = strings.ReplaceAll(strings.TrimSpace(told.String()), "\n", "; ")
	return n, nil
}

// codeOf tells where code is mapped in a process.
func codeOf(pid int) (func(uint64) bool, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	var code [][2]uint64
	for line := range strings.Lines(string(text)) {
		var low, high uint64
		var perm string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &low, &high, &perm); n == 3 && strings.Contains(perm, "x") {
			code = append(code, [2]uint64{low, high})
		}
	}
	return func(pc uint64) bool {
		return slices.ContainsFunc(code, func(c [2]uint64) bool { return c[0] <= pc && pc < c[1] })
	}, nil
}

// ahead is among how many samples that of a stop is looked for: signals that come while the program is stopped are one.
const ahead = 8

// pair compares stacks of the same thread at the same instruction, in the order in which they came. If a thread was
// there several times in a row, the stack that is equal is taken for that of the stop.
func (c *comparer) pair(ours, theirs []stack) (n counts) {
	next := map[int]int{}
	for _, t := range theirs {
		found, seen := -1, 0
		for i := next[t.thread]; i < len(ours) && seen < ahead; i++ {
			if ours[i].thread != t.thread {
				continue
			}
			seen++
			theirs := t.beside(ours[i].frames)
			if len(ours[i].frames) == 0 || len(theirs) == 0 || ours[i].frames[0] != theirs[0] {
				continue
			}
			if found < 0 {
				found = i
			}
			if slices.Equal(ours[i].frames, theirs) {
				found = i
				break
			}
		}
		if found < 0 {
			continue // a signal that came later than the sample
		}
		next[t.thread] = found + 1
		o := ours[found].frames
		t.frames = t.beside(o)
		n.total++
		n.frames += len(o)
		k := 0
		for k < len(o) && k < len(t.frames) && o[k] == t.frames[k] {
			k++
		}
		switch {
		case k == len(o) && k == len(t.frames):
			n.equal++
		case k == len(o) && k == limit, k == len(t.frames):
			n.shorter++
		default:
			if c.verbose {
				fmt.Printf("differ at %d:\n%x\n%x\n", k, o, t.frames)
			}
		}
	}
	return n
}

// beside are the frames without those of an interpreter in place of which the other stack has frames of functions.
func (s *stack) beside(other []uint64) []uint64 {
	if len(s.loops) == 0 {
		return s.frames
	}
	return slices.DeleteFunc(slices.Clone(s.frames), func(pc uint64) bool {
		return slices.Contains(s.loops, pc) && !slices.Contains(other, pc)
	})
}

// read reads stacks: the thread, a frame a line, and "--". Frames without an address are those of Python's functions.
func read(path string, interpreted bool) (list []stack, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var s stack
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "":
		case line == "--":
			if s.thread != 0 && len(s.frames) > 0 {
				list = append(list, s)
			}
			s = stack{}
		case s.thread == 0:
			s.thread, _ = strconv.Atoi(line)
		default:
			text, loop := strings.CutPrefix(line, "!")
			pc, err := strconv.ParseUint(text, 16, 64)
			if err != nil {
				return nil, err
			}
			if pc == 0 && interpreted {
				continue
			}
			s.frames = append(s.frames, pc)
			if loop {
				s.loops = append(s.loops, pc)
			}
		}
	}
	return list, nil
}

// start runs a command in a folder of its own.
func start(dir string, args ...string) (*exec.Cmd, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd, cmd.Start()
}
