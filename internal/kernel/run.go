package kernel

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"trocar/internal/process/probe"
)

// Run runs a program of type Run once, here and now (BPF_PROG_TEST_RUN, for raw tracepoint programs from 5.10), and
// returns its result.
func (l *Loaded) Run(name string) (uint32, error) {
	p := l.program(name)
	if p == nil || p.Type != probe.RunProgram {
		return 0, fmt.Errorf("no program %q to run", name)
	}
	return p.run()
}

func (p *loadedProgram) run() (uint32, error) {
	attr := &attrTestRun{progFD: uint32(p.prog.FD())}
	_, err := bpf(cmdProgTestRun, attr)
	runtime.KeepAlive(p)
	if err != nil {
		return 0, explain("run the program of "+p.Name, err)
	}
	return attr.retval, nil
}

// RunMany runs a program of type Bench n times and returns its result and the mean duration of a run.
func (l *Loaded) RunMany(name string, n uint32) (uint32, time.Duration, error) {
	p := l.program(name)
	if p == nil || p.Type != probe.BenchProgram {
		return 0, 0, fmt.Errorf("no program %q to measure", name)
	}
	var packet [64]byte // an XDP program needs at least an Ethernet header
	attr := &attrTestRun{progFD: uint32(p.prog.FD()), repeat: n, dataIn: pointer(&packet), dataSizeIn: uint32(len(packet))}
	_, err := bpf(cmdProgTestRun, attr)
	runtime.KeepAlive(p)
	runtime.KeepAlive(&packet)
	if err != nil {
		return 0, 0, explain("run the program of "+name, err)
	}
	return attr.retval, time.Duration(attr.duration), nil
}

// Iterate runs a program of type Iter over all it iterates on, and copies what it wrote (bpf_seq_write) to w. pid
// limits an iteration over tasks to one process (6.1), 0: all.
func (l *Loaded) Iterate(name string, pid int, w io.Writer) error {
	p := l.program(name)
	if p == nil || p.Type != probe.IterProgram {
		return fmt.Errorf("no iterator %q", name)
	}
	attr := &attrLinkIter{progFD: uint32(p.prog.FD()), attachType: attachIter}
	info := [3]uint32{1: uint32(pid)} // union bpf_iter_link_info: task.tid, task.pid, task.pid_fd
	if pid != 0 {
		attr.info, attr.infoLen = pointer(&info), uint32(len(info)*4)
	}
	link, err := bpf(cmdLinkCreate, attr)
	runtime.KeepAlive(&info)
	runtime.KeepAlive(p)
	if pid != 0 && (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.E2BIG)) {
		return &LacksError{Feature: "iterators over one process", Since: "6.1", Way: "filter by pid in the program"}
	}
	if err != nil {
		return explain("attach the iterator "+name, err)
	}
	defer unix.Close(link)
	fd, err := bpf(cmdIterCreate, &attrIterCreate{linkFD: uint32(link)})
	if err != nil {
		return explain("run the iterator "+name, err)
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}

// selfSignal runs programs, one after another, when this process gets a signal.
type selfSignal struct {
	number  unix.Signal
	signals chan os.Signal
	done    chan struct{}

	mu       sync.Mutex
	programs []*loadedProgram
}

// run runs the programs in the order they were added.
func (s *selfSignal) run() {
	defer close(s.done)
	for range s.signals {
		s.mu.Lock()
		programs := s.programs
		s.mu.Unlock()
		for _, p := range programs {
			p.run() // no one to tell: the program ran before at load
		}
	}
}

func (s *selfSignal) stop() {
	signal.Stop(s.signals)
	close(s.signals)
	<-s.done
}

// signals makes a program of type Run run at the signals of its points (self:signal).
func (a *attacher) signals(p *loadedProgram) error {
	for _, point := range p.Points {
		if point.Kind != probe.Self || point.Event == probe.Moved {
			continue
		}
		name := target(point)
		number := unix.SignalNum(name)
		if number == 0 {
			number = unix.SignalNum("SIG" + name)
		}
		if number == 0 || number == unix.SIGKILL || number == unix.SIGSTOP {
			a.failed = append(a.failed, AttachError{p.Name, point, fmt.Errorf("there is no signal %q to catch", name)})
			continue
		}
		s := a.selfSignal(number)
		s.mu.Lock()
		s.programs = append(s.programs, p)
		s.mu.Unlock()
	}
	return nil
}

// selfSignal is the one that waits for a signal; it is made when it is first asked for.
func (a *attacher) selfSignal(number unix.Signal) *selfSignal {
	a.Loaded.mu.Lock()
	defer a.Loaded.mu.Unlock()
	for _, s := range a.selves {
		if s.number == number {
			return s
		}
	}
	s := &selfSignal{number: number, signals: make(chan os.Signal, 16), done: make(chan struct{})}
	a.selves = append(a.selves, s)
	signal.Notify(s.signals, number)
	go s.run()
	return s
}
