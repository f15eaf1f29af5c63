package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"sync"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/btf"
	"trocar/internal/compile/feature"
)

// Features answers what this kernel has, and remembers the answers. The zero value is not usable.
type Features struct {
	mu    sync.Mutex
	tries *tries
	known [feature.Count]int8 // 1 yes, -1 no
	types *btf.Types

	vectors int8 // VectorsStepped: 1 yes, -1 no
}

// NewFeatures probes nothing yet.
func NewFeatures() *Features { return NewFeaturesWith(btf.Kernel()) }

// NewFeaturesWith is NewFeatures with the kernel's types from elsewhere.
func NewFeaturesWith(types btf.Source) *Features {
	return &Features{tries: newTries(), types: btf.New(types)}
}

// AssumedFeatures are those of a kernel that is not the running one.
func AssumedFeatures(types btf.Source, set feature.Set) *Features {
	f := NewFeaturesWith(types)
	f.vectors = -1
	for _, x := range feature.List() {
		f.known[x] = -1
		if set.Has(x) {
			f.known[x] = 1
		}
	}
	return f
}

// Disable makes features look absent: that is how what we do on old kernels is tested on new ones.
func (f *Features) Disable(which ...feature.Feature) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range which {
		f.known[x] = -1
	}
}

// Without is a copy in which some features look absent.
func (f *Features) Without(which ...feature.Feature) *Features {
	f.mu.Lock()
	c := &Features{tries: f.tries, known: f.known, types: f.types, vectors: f.vectors}
	f.mu.Unlock()
	c.Disable(which...)
	return c
}

// Has tells whether the kernel has x.
func (f *Features) Has(x feature.Feature) bool {
	f.mu.Lock()
	state := f.known[x]
	f.mu.Unlock()
	if state == 0 {
		state = -1
		if try := f.tries[x]; try != nil && try(f) {
			state = 1
		}
		f.mu.Lock()
		f.known[x] = state
		f.mu.Unlock()
	}
	return state > 0
}

// Need is the error for a missing feature, nil if it is there. way may tell a way out.
func (f *Features) Need(x feature.Feature, way string) error {
	if f.Has(x) {
		return nil
	}
	return lacks(x, way)
}

func lacks(x feature.Feature, way string) error {
	info := x.Info()
	return &LacksError{Feature: info.Name, Since: info.Since, Way: way}
}

// Types are the kernel's own, which it may not have.
func (f *Features) Types() *btf.Types { return f.types }

// Nop5Corrupts tells whether a probe on a 5-byte nop that is not a function's first instruction may corrupt the target:
// Linux 6.18 began to replace such nops by a call, which writes below the stack pointer, where leaf functions keep
// variables (the red zone). Its system call answers ENXIO to others than these calls, that of later kernels, which keep
// clear of the red zone, EPROTO, and older ones have none.
func (f *Features) Nop5Corrupts() bool {
	host, err := abi.Host()
	if err != nil {
		return false
	}
	uprobe, ok := host.Syscall("uprobe")
	if !ok {
		return false
	}
	_, _, errno := unix.Syscall(uintptr(uprobe), 0, 0, 0)
	return errno == unix.ENXIO
}

// tries are how each feature is found.
type tries [feature.Count]func(*Features) bool

func newTries() *tries {
	return &tries{
		feature.StackTables:     haveStackTables,
		feature.RingBuf:         func(*Features) bool { return haveRingBuf() },
		feature.UprobeMulti:     func(*Features) bool { return haveMultiLink(attachUprobeMulti) },
		feature.UprobeMultiPID:  func(f *Features) bool { return f.Has(feature.UprobeMulti) && haveMultiPID() },
		feature.UprobeSession:   haveSession,
		feature.AttachCookie:    helper(asm.FnGetAttachCookie),
		feature.SleepableUprobe: func(*Features) bool { return loads(progKprobe, progSleepable, returnZero()) },
		feature.Loop:            helper(asm.FnLoop),
		feature.ForEachMapElem:  helper(asm.FnForEachMapElem),
		feature.AtomicFetch:     func(*Features) bool { return loads(progKprobe, 0, fetchAdd()) },
		feature.MapLookupPercpu: helper(asm.FnMapLookupPercpuElem),
		feature.KtimeTAI:        helper(asm.FnKtimeGetTaiNs),
		feature.ProbeWriteUser:  helper(asm.FnProbeWriteUser),
		feature.TailCall:        func(*Features) bool { return loads(progKprobe, 0, tailCall()) },
		feature.TaskRegs:        helper(asm.FnTaskPtRegs),
		feature.FloatRegisters:  haveFloats,
		feature.KernelBTF:       func(f *Features) bool { return f.types.Available() },
	}
}

// progKprobe is the type of uprobe programs (enum bpf_prog_type).
const progKprobe = 2

// helper asks for a helper function, in a kprobe program (uprobes are that type).
func helper(fn asm.BuiltinFunc) func(*Features) bool {
	return func(*Features) bool { return knowsHelper(progKprobe, 0, fn) }
}

func returnZero() asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}
}

// haveStackTables: a loop in which memory may be read, the registers of any task, and where structures have what.
func haveStackTables(f *Features) bool {
	return f.Has(feature.Loop) && f.types.Available() && knowsHelper(progKprobe, 0, asm.FnTaskPtRegs) &&
		knowsHelper(progKprobe, 0, asm.FnFindVma)
}

// fetchAdd uses an atomic operation on the stack that gives the old value.
func fetchAdd() asm.Instructions {
	// cilium/ebpf 0.22 encodes the constant before it computes it, which would make this a plain add, known to every
	// kernel.
	exchange := asm.FetchAdd.Mem(asm.RFP, asm.R1, asm.DWord, -8)
	exchange.Constant = int64(asm.FetchAdd >> 8)
	return asm.Instructions{
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreMem(asm.RFP, -8, asm.R1, asm.DWord),
		exchange,
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}
}

// tailCall has a tail call that is never reached, and calls a function: JITs came to do both at different times (x86_64
// in 5.10, arm64 in 6.0).
func tailCall() asm.Instructions {
	over := asm.JEq.Imm(asm.R0, 0, "")
	over.Offset = 2
	function := asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Src: asm.PseudoCall, Constant: 1}
	return asm.Instructions{
		asm.Mov.Imm(asm.R0, 0), over, asm.FnTailCall.Call(), asm.Return(),
		function, asm.Return(),
		asm.Mov.Imm(asm.R0, 0), asm.Return(),
	}
}

// knowsHelper loads a program that calls fn without arguments. A known function is refused with EACCES because R1 was
// never set (or taken, if it has no arguments), an unknown one with EINVAL.
func knowsHelper(progType, flags uint32, fn asm.BuiltinFunc) bool {
	err := tryLoad(progType, 0, flags, asm.Instructions{fn.Call(), asm.Mov.Imm(asm.R0, 0), asm.Return()})
	return err == nil || errors.Is(err, unix.EACCES)
}

func loads(progType, flags uint32, insns asm.Instructions) bool {
	return tryLoad(progType, 0, flags, insns) == nil
}

func tryLoad(progType, attachType, flags uint32, insns asm.Instructions) error {
	fd, err := loadRaw(progType, attachType, flags, insns)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// loadRaw loads a program for a probe, without a log.
func loadRaw(progType, attachType, flags uint32, insns asm.Instructions) (int, error) {
	var code bytes.Buffer
	// The CPUs we run on are little-endian (and the library does not take binary.NativeEndian).
	if err := insns.Marshal(&code, binary.LittleEndian); err != nil {
		return -1, err
	}
	attr := attrProgLoad{
		progType:     progType,
		insnCnt:      uint32(code.Len() / asm.InstructionSize),
		insns:        slicePointer(code.Bytes()),
		license:      pointer(cString("GPL")),
		flags:        flags,
		expectedType: attachType,
	}
	return bpf(cmdProgLoad, &attr)
}

func haveRingBuf() bool {
	fd, err := bpf(cmdMapCreate, &attrMapCreate{mapType: 27, maxEntries: uint32(os.Getpagesize())})
	if err == nil {
		unix.Close(fd)
	}
	return err == nil
}

// linkRoot asks for a link to offset 0 of "/", which can never be made: a kernel that knows the attach type looks at
// the path and answers EBADF (not a regular file), all others EINVAL. No probe is placed.
func linkRoot(attachType uint32, pid int32) error {
	prog, err := loadRaw(progKprobe, attachType, 0, returnZero())
	if err != nil {
		return err
	}
	defer unix.Close(prog)
	var offset uint64
	fd, err := bpf(cmdLinkCreate, &attrLinkMulti{
		progFD:     uint32(prog),
		attachType: attachType,
		path:       pointer(cString("/")),
		offsets:    pointer(&offset),
		count:      1,
		pid:        uint32(pid),
	})
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func haveMultiLink(attachType uint32) bool {
	return errors.Is(linkRoot(attachType, 0), unix.EBADF)
}

// haveMultiPID: kernels with the right filter refuse a negative pid before they look at the path.
func haveMultiPID() bool {
	return errors.Is(linkRoot(attachUprobeMulti, -1), unix.EINVAL)
}

// haveSession: the attach type and the two functions that make it useful. 6.12 has the functions but refuses them in
// uprobe programs.
func haveSession(f *Features) bool {
	if !haveMultiLink(attachUprobeSession) {
		return false
	}
	isReturn, ok := f.types.FuncID("bpf_session_is_return")
	if !ok {
		return false
	}
	cookie, ok := f.types.FuncID("bpf_session_cookie")
	if !ok {
		return false
	}
	// From 7.0 on both take the context, before they take nothing: with R1 set it is right for all.
	return tryLoad(progKprobe, attachUprobeSession, 0, asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		KfuncCall(isReturn),
		asm.Mov.Reg(asm.R1, asm.R6),
		KfuncCall(cookie),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}) == nil
}

// KfuncCall is a call of the kernel's function with this type id (btf.Types.FuncID).
func KfuncCall(id uint32) asm.Instruction {
	return asm.Instruction{
		OpCode:   asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call),
		Src:      asm.PseudoKfuncCall,
		Constant: int64(id),
	}
}
