package cpython

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/probe"
	"trocar/internal/process/target"
)

// The interpreter executes all Python functions in one function of its own, which is entered once for many calls of
// Python functions by others. But the body of each function begins with an instruction (RESUME) of which there are
// others only behind places where a generator waits. Where the interpreter executes these, a probe sees each call once:
// the instruction must be the function's first of the kind.

// Interpreter is CPython at work in a process.
type Interpreter struct {
	m       *memory
	memory  *os.File
	file    *objfile.File
	bias    uint64 // what its addresses are moved by
	globals uint64 // the dictionary of the modules
	lay     *layout
	types   map[string]uint64

	// Loading is a module that is about to be executed; none, if its code is at 0.
	Loading Loading
	// Object is the type of references to objects.
	Object *types.Type
	// Places are where the instruction is executed, by addresses in the file, Frame the register that has the frame's
	// address there, by its DWARF number.
	Places []uint64
	Frame  int
	// Returns and Constants are where functions return what they have computed, and constants.
	Returns, Constants []uint64
	// Version is where the process has the version of the events that are monitored, 0 if there is none: the instruction
	// is executed anew when those of the function were made for another one.
	Version uint64
	// Lock is where the process has the address of the interpreter's lock, where the instruction is not executed anew by
	// threads that trace; 0: it is by all.
	Lock uint64
}

// Mapped is the interpreter's code in a process, and its minor version; nil: there is none.
func Mapped(maps []target.Mapping) (at *target.Mapping, minor int) {
	for i := range maps {
		if m := &maps[i]; m.Perm&target.Exec != 0 && m.IsFile() {
			if found := program().FindStringSubmatch(path.Base(m.Path)); found != nil {
				library := strings.HasPrefix(found[0], "lib")
				if at == nil || library {
					at = m
					minor, _ = strconv.Atoi(found[1]) // two digits
				}
				if library {
					break // the program itself only calls it
				}
			}
		}
	}
	return at, minor
}

// Interpret looks at the interpreter whose code is mapped in a process, in that file.
func Interpret(pid target.PID, at *target.Mapping, file *objfile.File) (in *Interpreter, err error) {
	bias, ok := file.Bias(at.Start, at.Offset, at.End-at.Start)
	if !ok {
		return nil, errMemory
	}
	mem, err := pid.Memory()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = mem.Close()
		}
	}()
	in = &Interpreter{memory: mem, file: file, bias: bias}
	in.m = newMemory(mem, nil)
	defer objfile.Guard(&err)()
	if err := in.find(); err != nil {
		return nil, err
	}
	maps, err := pid.Maps()
	if err != nil {
		return nil, err
	}
	if err := in.dispatch(maps, at); err != nil {
		return nil, err
	}
	return in, nil
}

// Close gives back what reading the process took.
func (in *Interpreter) Close() { _ = in.memory.Close() }

// symbol is the address in the process of something that the interpreter exports.
func (in *Interpreter) symbol(name string) (uint64, error) {
	addr, _, ok := in.file.Symbol(name)
	if !ok {
		return 0, fmt.Errorf("the interpreter has no symbol %s", name)
	}
	return addr + in.bias, nil
}

// exported are the types that are told apart.
var exported = []string{
	"PyCode_Type", "PyFunction_Type", "PyTuple_Type", "PyCell_Type", "PyClassMethod_Type", "PyStaticMethod_Type",
	"PyProperty_Type",
}

// find finds the interpreter's state, and compares what is known of its version with it.
func (in *Interpreter) find() error {
	at, err := in.symbol("Py_Version")
	if err != nil {
		return errors.New(ofKnown)
	}
	number := in.m.word(at, 0)
	minor := int(number >> 16 & 0xff)
	in.lay = version(minor)
	if in.lay == nil || number>>24&0xff != 3 {
		return errors.New(ofKnown)
	}
	in.m.lay = in.lay
	in.Object = types.PythonObject(int(in.lay.ascii), int(in.lay.compact()))
	if _, err := in.symbol("PyUnstable_Optimizer_NewUOpOptimizer"); err == nil {
		return errors.New("this interpreter was built with its experimental compiler, whose code passes no probes")
	}
	in.types = map[string]uint64{}
	for _, name := range exported {
		if in.types[name], err = in.symbol(name); err != nil {
			return err
		}
	}
	runtime, err := in.symbol("_PyRuntime")
	if err != nil {
		return err
	}
	main := in.m.word(runtime, in.lay.head)
	if main == 0 {
		return errors.New("its interpreter has not started yet: try again when the program runs")
	}
	if in.m.word(main, in.lay.next) != 0 {
		return errors.New("it has several interpreters in one process, which are not told apart yet")
	}
	in.globals = in.m.word(main, in.lay.modules)
	if in.lay.monitors != absent {
		in.Version = main + uint64(in.lay.monitors)
	}
	if in.lay.lock != absent {
		in.Lock = main + uint64(in.lay.lock)
	}
	return in.verify(main)
}

// verify looks whether what is known of the interpreter's structures leads to the objects that must be there.
func (in *Interpreter) verify(main uint64) error {
	unlike := errors.New("its structures are not those of the releases of this version that are known here")
	if !in.m.is(in.globals, isDict) || in.m.entry(in.globals, "sys") == 0 {
		return unlike
	}
	thread := in.m.word(main, in.lay.threads)
	if thread == 0 || in.m.word(thread, 16) != main {
		return unlike
	}
	if in.Lock != 0 {
		const size = 1 << 20 // and the thread that has had it last may have ended
		if lock := in.m.word(in.Lock, 0); lock < main || lock-main >= size {
			return unlike
		}
	}
	for n := 0; thread != 0 && n < 1000; n++ {
		frame := in.m.word(thread, in.lay.running)
		if in.lay.frame != absent && frame != 0 {
			frame = in.m.word(frame, in.lay.frame)
		}
		if frame != 0 && in.m.typeOf(in.m.word(frame, in.lay.code)) != in.types["PyCode_Type"] {
			return unlike
		}
		thread = in.m.word(thread, 8)
	}
	return nil
}

// opcodes is how many the interpreter has places for.
const opcodes = 256

// dispatch finds the table by which the interpreter goes on from instruction to instruction, and in it the places where
// functions begin.
func (in *Interpreter) dispatch(maps []target.Mapping, code *target.Mapping) error {
	low, size, ok := in.file.Symbol("_PyEval_EvalFrameDefault")
	if !ok || size == 0 {
		return errors.New("the interpreter's main loop is not in its symbols")
	}
	var found []uint64
	for i := range maps {
		m := &maps[i]
		if m.Inode != code.Inode || m.Dev != code.Dev || m.Perm&target.Read == 0 || m.Perm&target.Exec != 0 ||
			m.End-m.Start > 64<<20 {
			continue
		}
		data := make([]byte, m.End-m.Start)
		n, _ := in.memory.ReadAt(data, int64(m.Start))
		const align = 32
		for at := 0; at+8*opcodes <= n; at += align {
			if table := in.table(data[at:at+8*opcodes], low, low+size); table != nil {
				if found != nil {
					return errors.New("the interpreter's main loop has two tables of instructions")
				}
				found = table
			}
		}
	}
	if found == nil {
		return errors.New("the interpreter's main loop is not built in the usual way: it has no table of instructions")
	}
	return in.places(found, low, size)
}

// table reads the table of instructions, with addresses in the file; nil: it is none.
func (in *Interpreter) table(data []byte, low, high uint64) []uint64 {
	entry := func(i int) uint64 { return binary.LittleEndian.Uint64(data[8*i:]) - in.bias }
	none := in.lay.undefined
	same := entry(none[0])
	if !in.file.Executable(same) || entry(none[0]-1) == same || entry(none[1]+1) == same && none[1]+1 < opcodes-1 {
		return nil
	}
	for i := none[0]; i <= none[1]; i++ {
		if entry(i) != same {
			return nil
		}
	}
	table, inside := make([]uint64, opcodes), 0
	for i := range table {
		table[i] = entry(i)
		if !in.file.Executable(table[i]) {
			return nil
		}
		if table[i] >= low && table[i] < high {
			inside++
		}
	}
	if inside < opcodes/2 {
		return nil
	}
	return table
}

// Tells tells the calls of a function from those of others.
func (in *Interpreter) Tells(f *Function) *probe.Interpreted {
	return &probe.Interpreted{
		Frame: in.Frame, Code: int(in.lay.code), Marks: in.lay.marks, At: int(in.lay.instruction), OfCode: f.Code,
		OfMarks: f.Marks, Begin: f.Begin, Version: in.Version, Made: int(in.lay.monitored),
		Lock: in.Lock, Holder: int(in.lay.holder), Tracing: int(in.lay.tracing),
	}
}

// Place is where a parameter is when the body of its function begins.
func (in *Interpreter) Place(p Param) types.Place {
	at := types.Place{Kind: types.InMemory, Reg: in.Frame, Offset: in.lay.locals + 8*int64(p.At)}
	if p.Cell {
		at.Derefs = []int64{content}
	}
	return at
}

// Returned is where a function's result is at the places of Returns: all that it has computed besides its variables.
func (in *Interpreter) Returned(f *Function) types.Place {
	return types.Place{Kind: types.InMemory, Reg: in.Frame, Offset: in.lay.locals + 8*int64(f.Variables)}
}

// Constant is where the result is at the places of Constants: the instruction has its number.
func (in *Interpreter) Constant(f *Function) types.Place {
	const most = 256 // that one instruction can tell alone
	if f.Constants > most {
		return types.Unknown("the function has more than %d constants", most)
	}
	var ops []types.PlaceOp
	push := func(code types.PlaceCode, n int64) { ops = append(ops, types.PlaceOp{Code: code, Arg: n}) }
	load := func(off, size int64) {
		push(types.PushConst, off)
		push(types.Add, 0)
		push(types.Load, size)
	}
	ofFrame := func(off int64) {
		ops = append(ops, types.PlaceOp{Code: types.PushReg, Reg: in.Frame})
		load(off, 8)
	}
	ofFrame(in.lay.instruction)
	load(1, 1) // behind the opcode
	push(types.PushConst, 8)
	push(types.Mul, 0)
	ofFrame(in.lay.code)
	load(constants, 8)
	push(types.Add, 0)
	push(types.PushConst, elements)
	push(types.Add, 0)
	return types.Place{Kind: types.InMemory, Ops: ops}
}
