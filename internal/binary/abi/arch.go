package abi

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"trocar/internal/binary/types"
)

// Arch is a CPU with the conventions of Linux programs on it. There is one value of each, so that pointers are
// compared.
//
// A nil *Arch stands for a CPU that is not known here: all methods may be called on it, and answer that they do not
// know.
type Arch struct {
	Name  string // Go's name of it: "amd64"
	Title string // for people: "x86-64"
	Uname string // what uname(2) has as the machine, and bpftrace's builtin arch: "x86_64"
	Bits  int    // size of a pointer
	// Kernel is the CPU by whose registers the kernel tells of the programs of this one: another one for programs of 32
	// bits.
	Kernel *Arch

	// Registers are the general registers by their DWARF numbers: those that the kernel saves in struct pt_regs. It is
	// nil where debug information is not read: of programs of 32 bits.
	Registers []Register
	// Others are registers, or further names of them, that scripts have and DWARF has not.
	Others []Register
	// banks are the registers that the kernel saves elsewhere, where BPF cannot read them, in the order of their
	// numbers.
	banks []bank
	// encoded are DWARF's numbers of the registers by their numbers in instructions, where the two differ.
	encoded []int

	// DWARF numbers of the program counter, the stack pointer and, where calls put the return address in a register, of
	// that one; -1 if it is on the stack.
	IP, SP, LR int
	// FP is the DWARF number of the register that functions with a frame pointer keep it in.
	FP int

	C    CConvention
	Rust RustConvention
	// Java are the registers of the arguments of methods that HotSpot has compiled, integers and references, by their
	// DWARF numbers (SharedRuntime::java_calling_convention); nil: they are not known.
	Java []int

	ELF ELF
	// SyscallNumber is where the kernel's struct pt_regs has the number of the system call that a thread is in.
	SyscallNumber Field
	TLS           *TLS    // nil: where a thread has its own variables is not known
	Floats        *Floats // nil: where the kernel keeps floating-point registers is not known
	Watch         Watch
	// MinInst is the size of the smallest instruction, of which the sizes of all others are multiples.
	MinInst int
	// SignedReturns tells that return addresses may bear a signature, as call frame information has it
	// (DW_CFA_AARCH64_negate_ra_state).
	SignedReturns bool
	// userMode tells where to see whether the CPU ran a program or the kernel; nil: not known.
	userMode *UserMode
	// Extended tells that long double is of the 80 bits that the x87 unit computes with, not IEEE 754's format of 128.
	Extended bool

	// Trampolines is the first Linux with them (for fentry and fexit), "" if all have them that trocar runs on.
	Trampolines string

	// Predefined are the macros of C compilers that tell the CPU, each "NAME VALUE".
	Predefined []string
	// Triplet names the CPU in the folders of Debian's multiarch, Tree in the kernel's source (arch/…).
	Triplet, Tree string

	System System

	operand  func(o *Operands, op string) (p types.Place, width int, err error) // of USDT probes
	syscalls []string                                                           // names by number; "": there is none
}

// System is what system calls of the CPU have of their own.
type System struct {
	// Words are words for numbers that have other values than on most CPUs, or that only this one has, by the kind of the
	// number, in the form of package uapi.
	Words map[string]string
	// TLSBeforeChild: clone is given tls in front of child_tidptr (CONFIG_CLONE_BACKWARDS).
	TLSBeforeChild bool
	// PackedEvents: struct epoll_event has no padding (EPOLL_PACKED).
	PackedEvents bool
}

// Register is one that the kernel saves when a program is interrupted.
type Register struct {
	Name   string // as assemblers have it: "rdi"
	Script string // as scripts have it in reg(): "di"; "": they cannot name it
	Offset int    // in struct pt_regs
}

// bank is a row of registers of one kind: first to last are their DWARF numbers, from the number in the first one's
// name.
type bank struct {
	first, last int
	prefix      string
	from        int
}

// CConvention is how functions of C call each other.
type CConvention struct {
	Name string // of the standard
	// Args are the registers of integer arguments in order, Result the one of an integer result, by DWARF numbers. No
	// registers: arguments are on the stack.
	Args   []int
	Result int
	// StackArgs is the distance from the stack pointer to the first argument on the stack, at a function's entry.
	StackArgs int
	// hidden are further registers in which a caller passes something.
	hidden []int

	places func(args []*types.Type, result *types.Type) []*types.Place // nil: not known
	result func(t *types.Type) types.Place                             // nil: not known
}

// RustConvention is how rustc's functions return.
type RustConvention struct {
	result func(t *types.Type, pair bool) types.Place
	hidden func(t *types.Type, first types.Place) types.Place
}

// Field is a signed number in a struct.
type Field struct{ Offset, Size int }

// ELF is how files name the CPU.
type ELF struct {
	Machine  uint16 // e_machine
	Class    byte   // EI_CLASS: 1 or 2
	Relative uint32 // the type of relocations that add the address at which a file is loaded; 0: not known
	Resolved uint32 // of those that hold what a resolver of the file gives (IRELATIVE); 0: not known
	Cache    uint32 // what bits 8 to 15 of the flags in ld.so.cache are for libraries of the main ABI
}

// TLS is how programs find thread-local variables ("ELF Handling For Thread-Local Storage", Drepper 2013).
type TLS struct {
	// ThreadPointer is the path in the kernel's struct task_struct to the thread pointer of the running thread. It is what
	// was set by a system call; a program that sets it by an instruction of its own is seen at the next context switch.
	ThreadPointer []string
	// Types of relocations, each of a cell that the loader fills: with a variable's distance from the thread pointer, with
	// the number of the module that defines a variable, with its distance from the beginning of that module's block.
	TPOff, Module, DTPOff uint32
	// Vector is the distance from the thread pointer to the pointer to the vector of blocks (DTV), as glibc has it.
	Vector int64
}

// Floats is how the kernel keeps the floating-point registers of a thread that does not run.
type Floats struct {
	First int // the DWARF number of the register with the number 0
	State int // where the word is whose bits tell which areas are not as at the beginning, when all is 0
	Areas []FloatArea
}

// FloatArea has registers of one kind.
type FloatArea struct{ Reg, Count, At, Size, Bit int }

// Find gives the area of a register, and where it is in there.
func (f *Floats) Find(reg int) (area *FloatArea, off int, ok bool) {
	for i := range f.Areas {
		if a := &f.Areas[i]; a.Reg <= reg && reg < a.Reg+a.Count {
			return a, (reg - a.Reg) * a.Size, true
		}
	}
	return nil, 0, false
}

// Vector is 1 and the number of a floating-point register that the kernel keeps, by its DWARF number; 0: it is none.
func (a *Arch) Vector(reg int) int {
	if a == nil || a.Floats == nil {
		return 0
	}
	if _, _, ok := a.Floats.Find(reg); !ok {
		return 0
	}
	return reg - a.Floats.First + 1
}

// Watch is what debug registers can watch.
type Watch struct {
	ReadAlone bool   // reads without writes
	Exec      uint64 // what the kernel wants as the length of a place that is executed
	Debug     int    // where ptrace has the debug registers, eight of them (struct user); 0: it has none there
}

// UserMode: the bits of a register that are zero in the kernel (or Value in a program).
type UserMode struct {
	Register string // of scripts
	Mask     int64
	Value    int64
}

// all are the CPUs that are known.
func all() []*Arch { return []*Arch{AMD64, ARM64, I386} }

// Host is the CPU that this program runs on. It is asked once, by who describes the machine; everything else is told.
func Host() (*Arch, error) {
	a := ByName(runtime.GOARCH)
	if a == nil {
		return nil, fmt.Errorf("the CPU %s is not known, only %s", runtime.GOARCH, Names(" and "))
	}
	return a, nil
}

// ByELF is the CPU of an ELF file by its header: e_machine and EI_CLASS; nil if it is not known.
func ByELF(machine uint16, class byte) *Arch {
	for _, a := range all() {
		if a.ELF.Machine == machine && a.ELF.Class == class {
			return a
		}
	}
	return nil
}

// ByPE is the CPU of code for Linux in a PE image, as .NET has it, by the machine's number there; nil: not known, or
// code for another system. That number is the CPU's with bits of the system changed.
func ByPE(machine uint16) *Arch {
	const linux = 0x7b79
	switch machine ^ linux {
	case 0x8664:
		return AMD64
	case 0xaa64:
		return ARM64
	}
	return nil
}

// MachineName is the name, for people, of the CPU with a number in ELF files: "x86-64", or "machine 8" if it is not
// known.
func MachineName(machine uint16) string {
	for _, a := range all() {
		if a.ELF.Machine == machine {
			return a.Title
		}
	}
	return fmt.Sprintf("machine %d", machine)
}

// ByName is the CPU of a machine by its name (see Arch.Name), nil if it is not known.
func ByName(name string) *Arch {
	for _, a := range all() {
		if a.Name == name && a.Kernel == a {
			return a
		}
	}
	return nil
}

// Names lists the names of the CPUs of machines that are known, for messages.
func Names(separator string) string {
	var list []string
	for _, a := range all() {
		if a.Kernel == a {
			list = append(list, a.Name)
		}
	}
	return strings.Join(list, separator)
}

// Having lists the CPUs of machines of which something is true, for messages; nil: all of them.
func Having(separator string, has func(*Arch) bool) string {
	var list []string
	for _, a := range all() {
		if a.Kernel == a && (has == nil || has(a)) {
			list = append(list, a.String())
		}
	}
	return strings.Join(list, separator)
}

// String is the name for messages.
func (a *Arch) String() string {
	if a == nil {
		return "an unknown CPU"
	}
	return a.Uname
}

// HasRegister tells whether a program in the kernel can read a register, by its DWARF number: it is in struct pt_regs.
func (a *Arch) HasRegister(n int) bool { return a != nil && n >= 0 && n < len(a.Registers) }

// Offset is where struct pt_regs has a register, by its DWARF number.
func (a *Arch) Offset(n int) (offset int, ok bool) {
	if !a.HasRegister(n) {
		return 0, false
	}
	return a.Registers[n].Offset, true
}

// RegisterName is the name of a register by its DWARF number, also of those that BPF cannot read: "rdi", "xmm0".
func (a *Arch) RegisterName(n int) string {
	if a.HasRegister(n) {
		return a.Registers[n].Name
	}
	if a != nil {
		for _, b := range a.banks {
			if n >= b.first && n <= b.last {
				return fmt.Sprintf("%s%d", b.prefix, n-b.first+b.from)
			}
		}
	}
	return fmt.Sprintf("register %d", n)
}

// Encoded is the DWARF number of the general register that instructions name by a number; -1: there is none.
func (a *Arch) Encoded(n int) int {
	if a == nil || n < 0 {
		return -1
	}
	if a.encoded == nil && n < len(a.Registers) {
		return n
	}
	if n < len(a.encoded) {
		return a.encoded[n]
	}
	return -1
}

// ScriptRegister is where struct pt_regs has the register that a script names.
func (a *Arch) ScriptRegister(name string) (offset int, ok bool) {
	for r := range a.scripted {
		if r.Script == name {
			return r.Offset, true
		}
	}
	return 0, false
}

// ScriptName is the name by which scripts read a register of a DWARF number.
func (a *Arch) ScriptName(n int) (name string, ok bool) {
	if !a.HasRegister(n) {
		return "", false
	}
	name = a.Registers[n].Script
	return name, name != ""
}

// ScriptRegisters are the names of registers that scripts have.
func (a *Arch) ScriptRegisters() (names []string) {
	for r := range a.scripted {
		names = append(names, r.Script)
	}
	return names
}

// RegistersText lists the names of registers that scripts have, by CPU, for people: "ax … on x86_64; r0 … r30 … on
// aarch64".
func RegistersText() string {
	var list []string
	for _, a := range all() {
		if a.Kernel != a {
			continue
		}
		text, run, last := "", false, ""
		for _, name := range a.ScriptRegisters() {
			follows := last != "" && following(last) == name
			switch {
			case follows && run: // shown as the end of a row, so far
			case follows:
				text, run = text+" …", true
			case run:
				text, run = text+" "+last+" "+name, false
			default:
				text += " " + name
			}
			last = name
		}
		list = append(list, strings.TrimSpace(text)+" on "+a.String())
	}
	return strings.Join(list, "; ")
}

// following is the name of the next register in a row of numbered ones, "" if the name has no number.
func following(name string) string {
	prefix := strings.TrimRight(name, "0123456789")
	n, err := strconv.Atoi(name[len(prefix):])
	if err != nil {
		return ""
	}
	return prefix + strconv.Itoa(n+1)
}

// scripted goes through the registers that scripts can name.
func (a *Arch) scripted(yield func(Register) bool) {
	if a == nil {
		return
	}
	for _, list := range [][]Register{a.Registers, a.Others} {
		for _, r := range list {
			if r.Script != "" && !yield(r) {
				return
			}
		}
	}
}

// PC is the DWARF number of the program counter; -1: debug information has none.
func (a *Arch) PC() int {
	if a == nil || a.Registers == nil {
		return -1
	}
	return a.IP
}

// EntryCFA is the canonical frame address at a function's first instruction by the ABI, just above a return address on
// the stack: a register and a distance.
func (a *Arch) EntryCFA() (reg int, offset int64, ok bool) {
	if a == nil || a.Registers == nil {
		return 0, 0, false
	}
	return a.SP, int64(a.C.StackArgs), true
}

// ReturnOnStack tells whether a call puts the return address on the stack.
func (a *Arch) ReturnOnStack() bool { return a != nil && a.LR < 0 }

// Passes tells whether a caller may pass a value in a register, by its DWARF number: it is one for arguments, or none
// that BPF can read. Of a CPU that is not known it may in each.
func (a *Arch) Passes(n int) bool {
	if a == nil || len(a.C.Args) == 0 {
		return true
	}
	return slices.Contains(a.C.Args, n) || slices.Contains(a.C.hidden, n) || len(a.banks) > 0 && n >= a.banks[0].first
}

// StackArg is the place of the n-th argument that is on the stack, a word each, at a C function's entry.
func (a *Arch) StackArg(n int) types.Place {
	if a == nil {
		return types.Place{Why: "the CPU is not known"}
	}
	return types.Place{Kind: types.InMemory, Reg: a.SP, Offset: int64(a.C.StackArgs + a.Bits/8*n)}
}

// Syscalls are the names of system calls by number; "": there is none of that number.
func (a *Arch) Syscalls() []string {
	if a == nil {
		return nil
	}
	return a.syscalls
}

// Syscall is the number of a system call.
func (a *Arch) Syscall(name string) (number int, ok bool) {
	number = slices.Index(a.Syscalls(), name)
	return number, number >= 0 && name != ""
}

// UserMode tells where to see whether the CPU ran a program or the kernel when it was interrupted; nil: that is not
// known.
func (a *Arch) UserMode() *UserMode {
	if a == nil {
		return nil
	}
	return a.userMode
}

// IntegerArgs are the registers of integer arguments of C functions in order, by DWARF numbers.
func (a *Arch) IntegerArgs() []int {
	if a == nil {
		return nil
	}
	return a.C.Args
}

// Passing are the registers in which functions are given numbers and addresses, or give them back, by DWARF numbers.
// Those of C are the first: so many of them for arguments, so many for a result.
func (a *Arch) Passing() (all []int, args, result int) {
	if a == nil || len(a.C.Args) == 0 {
		return nil, 0, 0
	}
	all, result = append(all, a.C.Result), 1
	add := func(regs []int) {
		for _, r := range regs {
			if !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	add(a.C.Args)
	args = len(all)
	add(a.OwnIntegers())
	return all, args, result
}

// CPlaces gives the places of the arguments of a C or C++ function at its entry: of `this` first. A place is nil for a
// value of a type that is not known in full; then those behind it are as well. The list is nil if the convention is not
// known.
func (a *Arch) CPlaces(args []*types.Type, result *types.Type) []*types.Place {
	if a == nil || a.C.places == nil {
		return nil
	}
	return a.C.places(args, result)
}

// Result is the place of a result where a function returns, by its language's convention (for Rust see RustResult).
func (a *Arch) Result(t *types.Type, lang types.Language) types.Place {
	t = t.Complete()
	inC := lang == types.C || lang == types.CPlusPlus
	switch {
	case a == nil:
		return types.Place{Why: "the calling convention of this CPU is not known"}
	case t == nil:
		return types.Place{Why: "the type of the result is not known"}
	case inC && a.C.result != nil:
		return a.C.result(t)
	}
	return scalarResult(t, a.Bits/8, a.C.Result)
}

// scalarResult is the place of what all conventions return in the same way: a scalar of up to a word, in a register.
func scalarResult(t *types.Type, word, reg int) types.Place {
	switch {
	case t.IsScalar() && t.Size <= word:
		return types.Place{Kind: types.InRegister, Reg: reg}
	case t.Kind == types.Float:
		return types.Place{Why: "the result is in a floating-point register, which BPF cannot read"}
	}
	return types.Place{Why: fmt.Sprintf("where a result of type %s is returned is not known", t)}
}

// RustResult is the place of the result of a Rust function. pair tells that callers were seen to take two registers
// (see TwoScalars).
func (a *Arch) RustResult(t *types.Type, pair bool) types.Place {
	if a == nil || a.Rust.result == nil {
		return a.Result(t, types.Rust)
	}
	return a.Rust.result(t, pair)
}

// RustHidden is the place of a result for which RustResult cannot tell whether it is in memory, from where the
// function's first parameter is at the entry: behind the hidden address of the result, or in its place. Unavailable:
// that tells nothing.
func (a *Arch) RustHidden(t *types.Type, first types.Place) types.Place {
	if a == nil || a.Rust.hidden == nil {
		return types.Place{}
	}
	return a.Rust.hidden(t, first)
}

// PlaceText tells a place to people: "rdi", "[rsp+8]", "[[rdi]+16]", "= 5".
func (a *Arch) PlaceText(p types.Place) string {
	signed := func(n int64) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("%+d", n)
	}
	switch p.Kind {
	case types.InRegister:
		return a.RegisterName(p.Reg)
	case types.InMemory:
		if len(p.Ops) > 0 {
			return "at a computed address"
		}
		text := a.RegisterName(p.Reg) + signed(p.Offset)
		for _, d := range p.Derefs {
			text = "[" + text + "]" + signed(d)
		}
		return "[" + text + "]"
	case types.Constant:
		return fmt.Sprintf("= %d", int64(p.Value))
	case types.InPieces:
		var parts []string
		for _, piece := range p.Pieces {
			parts = append(parts, fmt.Sprintf("%s (%d bytes)", a.PlaceText(piece.Place), piece.Size))
		}
		return strings.Join(parts, ", ")
	case types.Computed:
		if len(p.Ops) > 0 || len(p.Derefs) > 0 {
			return "computed"
		}
		return "= " + a.RegisterName(p.Reg) + signed(p.Offset)
	case types.Unavailable:
	}
	return cmp.Or(p.Why, "unavailable")
}
