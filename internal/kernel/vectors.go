package kernel

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/code"
)

// VectorsStepped tells by a trial whether the kernel executes vector instructions as they are when they are probed. No
// kernel up to 6.18 does: it looks at one byte of the opcode, which in these means something else. A program of ours of
// 600 bytes, in memory, executes one of each kind with a probe on it, checks the results and ends with status 0 only if
// all are right. What cannot be tried is taken for wrong. The trial takes some 100 milliseconds, and is made once.
func (f *Features) VectorsStepped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.vectors == 0 {
		f.vectors = -1
		if host, err := abi.Host(); err == nil && stepsRight(code.VectorTrial(host)) {
			f.vectors = 1
		}
	}
	return f.vectors > 0
}

// stepsRight runs a trial's program with its probes and tells whether all were hit and it ended as it should.
func stepsRight(t *code.Trial) bool {
	if t == nil {
		return false
	}
	path, done, err := inMemory(t.File)
	if err != nil {
		return false
	}
	defer done()
	if !endsWell(path) {
		return false // the CPU does not have all of its instructions
	}
	hits, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return false
	}
	defer hits.Close()
	prog, err := loadRaw(progKprobe, attachUprobeMulti, 0, countingRuns(hits.FD()))
	if err != nil {
		return false
	}
	defer unix.Close(prog)
	link, err := bpf(cmdLinkCreate, &attrLinkMulti{
		progFD: uint32(prog), attachType: attachUprobeMulti, path: pointer(cString(path)),
		offsets: slicePointer(t.Offsets), count: uint32(len(t.Offsets)),
	})
	if err != nil {
		return false // the kernel refuses one of the instructions, or has no such links, as all before 6.6
	}
	defer unix.Close(link)
	if !endsWell(path) {
		return false
	}
	var n uint64
	return hits.Lookup(uint32(0), &n) == nil && n == uint64(len(t.Offsets))
}

// endsWell runs a program and tells whether its status is 0.
func endsWell(path string) bool {
	state := end(path)
	return state != nil && state.Success()
}

// end runs a program for some seconds at most and gives how it ended, nil if it did not start.
func end(path string) *os.ProcessState {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path)
	_ = cmd.Run() // its state tells
	return cmd.ProcessState
}

// inMemory makes a file that can be executed and has no name.
func inMemory(content []byte) (path string, done func(), err error) {
	fd, err := unix.MemfdCreate("trial", unix.MFD_CLOEXEC)
	if err != nil {
		return "", nil, err
	}
	w := os.NewFile(uintptr(fd), "trial")
	defer w.Close() // what is open for writing is not executed
	if _, err := w.Write(content); err != nil {
		return "", nil, err
	}
	r, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), r.Fd()), func() { r.Close() }, nil
}

// countingRuns is a program that counts its runs in the only value of an array.
func countingRuns(array int) asm.Instructions {
	return asm.Instructions{
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, array),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "end"),
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("end"),
		asm.Return(),
	}
}
