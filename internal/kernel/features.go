package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"sync"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"trocar/internal/binary/btf"
)

// Feature is something that some of the kernels we run on lack (the oldest is 5.10).
type Feature uint8

// Features. A script needs few of them; each is probed for when first asked.
const (
	RingBuf Feature = iota
	UprobeMulti
	UprobeMultiPID
	UprobeSession
	AttachCookie
	SleepableUprobe
	CopyFromUserStr
	Loop
	ForEachMapElem
	AtomicFetch
	NSPidTgid
	KtimeBoot
	KtimeTAI
	Jiffies64
	GetFuncIP
	GetStack
	GetTaskStack
	CurrentTaskBTF
	TaskPtRegs
	FindVMA
	TaskVMA
	Snprintf
	Strncmp
	StrKfuncs
	SendSignal
	SendSignalThread
	RingbufDynptr
	MapLookupPercpu
	CopyFromUserTask
	ProbeWriteUser
	KernelBTF
	numFeatures
)

// FeatureInfo describes a feature.
type FeatureInfo struct {
	Name  string
	Since string // first kernel that has it
	probe func(*Features) bool
}

// Features answers what this kernel has, and remembers the answers. The zero value is not usable.
type Features struct {
	mu    sync.Mutex
	known [numFeatures]int8 // 1 yes, -1 no
	types *btf.Types
}

// NewFeatures probes nothing yet.
func NewFeatures() *Features { return NewFeaturesWith(btf.Kernel()) }

// NewFeaturesWith is NewFeatures with the kernel's types from elsewhere.
func NewFeaturesWith(types btf.Source) *Features { return &Features{types: btf.New(types)} }

// AssumedFeatures are those of a kernel that is not the running one.
func AssumedFeatures(types btf.Source, has func(Feature) bool) *Features {
	f := NewFeaturesWith(types)
	for _, x := range AllFeatures() {
		f.known[x] = -1
		if has(x) {
			f.known[x] = 1
		}
	}
	return f
}

// Disable makes features look absent: that is how what we do on old kernels is tested on new ones.
func (f *Features) Disable(which ...Feature) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range which {
		f.known[x] = -1
	}
}

// Without is a copy in which some features look absent.
func (f *Features) Without(which ...Feature) *Features {
	f.mu.Lock()
	c := &Features{known: f.known, types: f.types}
	f.mu.Unlock()
	c.Disable(which...)
	return c
}

// Has tells whether the kernel has x.
func (f *Features) Has(x Feature) bool {
	f.mu.Lock()
	state := f.known[x]
	f.mu.Unlock()
	if state == 0 {
		state = -1
		if x.Info().probe(f) {
			state = 1
		}
		f.mu.Lock()
		f.known[x] = state
		f.mu.Unlock()
	}
	return state > 0
}

// Need is the error for a missing feature, nil if it is there. way may tell a way out.
func (f *Features) Need(x Feature, way string) error {
	if f.Has(x) {
		return nil
	}
	return lacks(x, way)
}

func lacks(x Feature, way string) error {
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
	const uprobe = 336 // amd64
	if runtime.GOARCH != "amd64" {
		return false
	}
	_, _, errno := unix.Syscall(uprobe, 0, 0, 0)
	return errno == unix.ENXIO
}

// Info is the description of x.
func (x Feature) Info() FeatureInfo {
	switch x {
	case RingBuf:
		return FeatureInfo{"ring buffers", "5.8", func(*Features) bool { return haveRingBuf() }}
	case UprobeMulti:
		return FeatureInfo{"links of many uprobes", "6.6", func(*Features) bool { return haveMultiLink(attachUprobeMulti) }}
	case UprobeMultiPID:
		// 46ba0e49b642 ("bpf: fix multi-uprobe PID filtering logic"): before it only the thread with that id ran the
		// program.
		return FeatureInfo{"links of many uprobes in one process", "6.10", func(f *Features) bool {
			return f.Has(UprobeMulti) && haveMultiPID()
		}}
	case UprobeSession:
		return FeatureInfo{"uprobe sessions (one link for entry and return)", "6.13", haveSession}
	case AttachCookie:
		return helper("cookies of probes", "5.15", asm.FnGetAttachCookie)
	case SleepableUprobe:
		return FeatureInfo{"sleepable uprobe programs", "6.0", func(*Features) bool { return loads(progKprobe, progSleepable, returnZero()) }}
	case CopyFromUserStr:
		return FeatureInfo{"bpf_copy_from_user_str", "6.12", haveCopyFromUserStr}
	case Loop:
		return helper("bpf_loop", "5.17", asm.FnLoop)
	case ForEachMapElem:
		return helper("bpf_for_each_map_elem", "5.13", asm.FnForEachMapElem)
	case AtomicFetch:
		return FeatureInfo{"atomic operations with a result", "5.12", func(*Features) bool { return loads(progKprobe, 0, fetchAdd()) }}
	case NSPidTgid:
		return helper("bpf_get_ns_current_pid_tgid", "5.7", asm.FnGetNsCurrentPidTgid)
	case KtimeBoot:
		return helper("bpf_ktime_get_boot_ns", "5.8", asm.FnKtimeGetBootNs)
	case KtimeTAI:
		return helper("bpf_ktime_get_tai_ns", "6.1", asm.FnKtimeGetTaiNs)
	case Jiffies64:
		return helper("bpf_jiffies64", "5.5", asm.FnJiffies64)
	case GetFuncIP:
		return helper("bpf_get_func_ip", "5.15", asm.FnGetFuncIp)
	case GetStack:
		return helper("bpf_get_stack", "4.18", asm.FnGetStack)
	case GetTaskStack:
		return helper("bpf_get_task_stack", "5.9", asm.FnGetTaskStack)
	case CurrentTaskBTF:
		return helper("bpf_get_current_task_btf", "5.11", asm.FnGetCurrentTaskBtf)
	case TaskPtRegs:
		return helper("bpf_task_pt_regs", "5.15", asm.FnTaskPtRegs)
	case FindVMA:
		return helper("bpf_find_vma", "5.17", asm.FnFindVma)
	case TaskVMA:
		return kfunc("bpf_iter_task_vma_new", "6.7")
	case Snprintf:
		return helper("bpf_snprintf", "5.13", asm.FnSnprintf)
	case Strncmp:
		return helper("bpf_strncmp", "5.17", asm.FnStrncmp)
	case StrKfuncs:
		return kfunc("bpf_strnlen", "6.17")
	case SendSignal:
		return helper("bpf_send_signal", "5.3", asm.FnSendSignal)
	case SendSignalThread:
		return helper("bpf_send_signal_thread", "5.5", asm.FnSendSignalThread)
	case RingbufDynptr:
		return helper("ring buffer records of variable size", "5.19", asm.FnRingbufReserveDynptr)
	case MapLookupPercpu:
		return helper("bpf_map_lookup_percpu_elem", "5.19", asm.FnMapLookupPercpuElem)
	case CopyFromUserTask:
		return FeatureInfo{"bpf_copy_from_user_task", "5.18", func(*Features) bool {
			return knowsHelper(progKprobe, progSleepable, asm.FnCopyFromUserTask)
		}}
	case ProbeWriteUser:
		return helper("writing to user memory (bpf_probe_write_user)", "4.8", asm.FnProbeWriteUser)
	case KernelBTF:
		return FeatureInfo{"its own type information (BTF)", "4.18", func(f *Features) bool { return f.types.Available() }}
	}
	return FeatureInfo{Name: "unknown", probe: func(*Features) bool { return false }}
}

func (x Feature) String() string { return x.Info().Name }

// AllFeatures lists the features, for a report.
func AllFeatures() []Feature {
	all := make([]Feature, numFeatures)
	for i := range all {
		all[i] = Feature(i)
	}
	return all
}

// progKprobe is the type of uprobe programs (enum bpf_prog_type).
const progKprobe = 2

// helper is a feature that is a helper function, asked for in a kprobe program (uprobes are that type).
func helper(name, since string, fn asm.BuiltinFunc) FeatureInfo {
	return FeatureInfo{name, since, func(*Features) bool { return knowsHelper(progKprobe, 0, fn) }}
}

// kfunc is a feature that is a kernel function in the kernel's type information. Being there does not mean that every
// program type may call it: those that matter have a probe of their own.
func kfunc(name, since string) FeatureInfo {
	return FeatureInfo{name, since, func(f *Features) bool {
		_, ok := f.types.FuncID(name)
		return ok
	}}
}

func returnZero() asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}
}

// fetchAdd uses an atomic operation on the stack that gives the old value.
func fetchAdd() asm.Instructions {
	// cilium/ebpf 0.22 encodes the constant before it computes it, which would make this a plain add, known to every kernel.
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

// linkRoot asks for a link to offset 0 of "/", which can never be made: a kernel that knows the attach type looks at the
// path and answers EBADF (not a regular file), all others EINVAL. No probe is placed.
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

func haveCopyFromUserStr(f *Features) bool {
	if !f.Has(SleepableUprobe) {
		return false
	}
	id, ok := f.types.FuncID("bpf_copy_from_user_str")
	if !ok {
		return false
	}
	return loads(progKprobe, progSleepable, asm.Instructions{
		asm.Mov.Reg(asm.R1, asm.RFP),
		asm.Add.Imm(asm.R1, -8),
		asm.Mov.Imm(asm.R2, 8),
		asm.Mov.Imm(asm.R3, 0),
		asm.Mov.Imm(asm.R4, 0),
		KfuncCall(id),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	})
}

// KfuncCall is a call of the kernel's function with this type id (btf.Types.FuncID).
func KfuncCall(id uint32) asm.Instruction {
	return asm.Instruction{
		OpCode:   asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call),
		Src:      asm.PseudoKfuncCall,
		Constant: int64(id),
	}
}
