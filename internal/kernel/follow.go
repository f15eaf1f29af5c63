package kernel

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"trocar/internal/process/probe"
)

// Family is a set of processes that grows by itself: a process made by one of the set belongs to it before its first
// instruction. The set is a map of a byte for each process id that programs look at.
//
// An id leaves the set when it is given to a process that is made by none of the set, so no exit has to be seen.
type Family struct {
	mu   sync.Mutex
	mem  []byte // nil: closed
	prog *ebpf.Program
}

// Namespaced names a process as a PID namespace shows it.
type Namespaced struct {
	Dev, Ino uint64
	PID      int
}

// Follow begins to follow; the map's value has a byte for each process id there may be, and its size is a power of two.
// With first, that process belongs to the family too, for those who cannot know its id in the initial namespace.
func (l *Loaded) Follow(name string, first *Namespaced) (*Family, error) {
	m := l.Map(name)
	if m == nil {
		return nil, fmt.Errorf("no map %q", name)
	}
	a := &attacher{Loaded: l}
	defer a.close()
	point := &probe.Point{Category: "sched", Event: "sched_process_fork"}
	at, err := a.childField(point)
	if err != nil {
		return nil, fmt.Errorf("following processes: %w", err)
	}
	f := &Family{}
	if f.mem, err = unix.Mmap(m.m.FD(), 0, m.ValueSize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("following processes: the map of their ids: %w", err)
	}
	insns, err := l.link(adopt(name, at, int32(m.ValueSize()-1), first))
	if err == nil {
		f.prog, err = loadSpec(&ebpf.ProgramSpec{Name: "follow", Type: ebpf.TracePoint, Instructions: insns, License: "GPL"},
			"follow", Options{})
	}
	if err == nil {
		err = a.tracepoint(&loadedProgram{Program: &Program{Points: []*probe.Point{point}}, prog: f.prog}, 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("following processes: %w", err)
	}
	return f, nil
}

// adopt is the program that runs in the parent when it has made a process or a thread, which has not run yet: the child
// is in the set if the parent is. The ids of threads are never looked at.
func adopt(name string, at int16, mask int32, first *Namespaced) asm.Instructions {
	insns := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.FnGetCurrentPidTgid.Call(),
		asm.RSh.Imm(asm.R0, 32),
		asm.And.Imm(asm.R0, mask),
		asm.LoadMapValue(asm.R8, 0, 0).WithReference(name),
		asm.Mov.Reg(asm.R1, asm.R8),
		asm.Add.Reg(asm.R1, asm.R0),
		asm.LoadMem(asm.R7, asm.R1, 0, asm.Byte),
	}
	if first != nil {
		insns = append(insns,
			asm.JNE.Imm(asm.R7, 0, "store"),
			asm.LoadImm(asm.R1, int64(first.Dev), asm.DWord),
			asm.LoadImm(asm.R2, int64(first.Ino), asm.DWord),
			asm.Mov.Reg(asm.R3, asm.R10),
			asm.Add.Imm(asm.R3, -8),
			asm.Mov.Imm(asm.R4, 8),
			asm.StoreImm(asm.R10, -8, 0, asm.Word),
			asm.StoreImm(asm.R10, -4, 0, asm.Word),
			asm.FnGetNsCurrentPidTgid.Call(),
			asm.LoadMem(asm.R1, asm.R10, -4, asm.Word), // tgid
			asm.JNE.Imm(asm.R1, int32(first.PID), "store"),
			asm.Mov.Imm(asm.R7, 1),
		)
	}
	return append(insns,
		asm.LoadMem(asm.R1, asm.R6, at, asm.Word).WithSymbol("store"),
		asm.And.Imm(asm.R1, mask),
		asm.Add.Reg(asm.R8, asm.R1),
		asm.StoreMem(asm.R8, 0, asm.R7, asm.Byte),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	)
}

// childField is where the record of a tracepoint has the id of the new process. It moved in 6.17, when the names became
// strings of any length.
func (a *attacher) childField(point *probe.Point) (int16, error) {
	files, err := a.trace()
	if err != nil {
		return 0, err
	}
	text, err := files.ReadFile("events/" + point.Category + "/" + point.Event + "/format")
	if err != nil {
		return 0, err
	}
	return parseChildField(string(text))
}

var childField = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*field:pid_t child_pid;\s*offset:(\d+);\s*size:4;`)
})

func parseChildField(format string) (int16, error) {
	m := childField().FindStringSubmatch(format)
	if m == nil {
		return 0, errors.New("the format of sched:sched_process_fork has no child_pid")
	}
	at, err := strconv.ParseInt(m[1], 10, 16)
	return int16(at), err
}

// Add puts a process into the set, by its id in the initial PID namespace.
func (f *Family) Add(pid int) { f.set(pid, 1) }

// Remove takes a process out of the set.
func (f *Family) Remove(pid int) { f.set(pid, 0) }

func (f *Family) set(pid int, value byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if pid > 0 && pid < len(f.mem) {
		f.mem[pid] = value
	}
}

// Has tells whether the process that has, or last had, an id is in the set.
func (f *Family) Has(pid int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return pid > 0 && pid < len(f.mem) && f.mem[pid] != 0
}

// Missed is how often the kernel did not run the program when a process or a thread was made.
func (f *Family) Missed() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return misses(f.prog)
}

// Close gives back the memory; the program goes with the rest of what was attached.
func (f *Family) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mem != nil {
		unix.Munmap(f.mem)
		f.mem = nil
	}
	if f.prog != nil {
		f.prog.Close()
		f.prog = nil
	}
}
