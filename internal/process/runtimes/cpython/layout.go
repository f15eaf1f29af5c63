package cpython

// layout is where a minor version of CPython keeps what is looked at here: offsets in bytes, on 64-bit CPUs. The
// releases of a version share it. It comes from the debug information of builds of them; before it is relied on, what
// it leads to in the process is compared with what must be there (Interpreter.verify, walk.code).
type layout struct {
	head, next int64 // in _PyRuntime, the list of interpreters; in an interpreter, the next one
	threads    int64 // its threads
	modules    int64 // the dictionary sys.modules
	monitors   int64 // the version of the events that are monitored; absent: there is none

	lock, holder, tracing int64 // the interpreter's lock; in it, the thread that has it; in a thread, whether it traces

	thread         int64 // in a thread: what its thread pointer is
	running, frame int64 // the same: the frame that runs, or what has it at frame; absent: running is it

	code, instruction, locals int64 // in a frame: the code object, what was executed last, the variables

	arguments, keywords int64 // in a code object: how many parameters there are of a kind
	flags, line         int64
	variables           int64 // how many there are in a frame; behind them is what is being computed
	names, kinds        int64 // of the variables
	file, qualified     int64 // names
	resume              int64 // the index of the instruction with which the body begins
	monitored           int64 // the version of the events that its instructions were made for
	instructions        int64
	marks               []int // words of a code object that others at its address do not have

	ascii int64 // in a str: the text, if it is of ASCII; of others it is behind that

	resumes   []int  // opcodes that the instruction may have
	returns   []int  // opcodes that return what was computed last
	constants []int  // opcodes that return a constant
	undefined [2]int // a range of opcodes that there are none of: all lead to the same place, and those beside to others
}

// absent is the offset of what a version does not have.
const absent = -1

// What is the same in all versions: offsets in objects.
const (
	objectType = 8
	sized      = 16 // the number of elements
	wrapped    = 16 // in what makes a function a method or property: the function
	content    = 16 // in a cell
	moduleDict = 16
	elements   = 24 // in a tuple
	constants  = 24 // in a code object

	funcGlobals, funcCode, funcClosure = 16, 48, 72

	typeName, typeFlags, typeDict, typeDictOffset = 24, 168, 264, 288

	dictUsed, dictKeys             = 16, 32
	keysHead, keysCount, keysTable = 8, 24, 32 // the head is of bytes: sizes as powers of two, and the kind

	strLength, strState = 16, 32
)

// version is the layout of a minor version of Python 3; nil: it is not known.
func version(minor int) *layout {
	l := layout{
		head: 40, next: 0, monitors: absent, lock: absent, running: 56, frame: 0, code: 0, instruction: 56, locals: 72,
		arguments: 52, keywords: 60, flags: 48, line: 68, variables: 72,
		names: 96, kinds: 104, file: 112, qualified: 128, ascii: 40,
	}
	// From 3.12 on code objects are numbered (co_version), at 92.
	l.marks = []int{int(l.qualified), 88}
	switch minor {
	case 11:
		l.threads, l.modules, l.frame, l.code, l.ascii, l.thread = 16, 888, 8, 32, 48, 152
		l.arguments, l.keywords, l.line, l.variables, l.resume, l.instructions = 56, 64, 72, 76, 168, 184
		l.resumes, l.undefined = []int{150, 151}, [2]int{181, 254}
		l.returns = []int{83}
		// The name, the file, the first line: names and files are objects that functions share.
		l.marks = []int{int(l.qualified), int(l.file), int(l.line)}
	case 12:
		l.threads, l.modules, l.monitors, l.thread = 72, 944, 48, 136
		l.monitored, l.resume, l.instructions = 160, 176, 192
		l.resumes, l.undefined = []int{151, 240}, [2]int{177, 236}
		l.returns, l.constants = []int{83, 242}, []int{121, 247}
	case 13:
		l.head, l.next, l.threads, l.modules, l.monitors, l.running, l.frame = 632, 7264, 7344, 7656, 0, 72, absent
		l.lock, l.holder, l.tracing, l.thread = 16, 8, 60, 152
		l.monitored, l.resume, l.instructions = 168, 184, 200
		l.resumes, l.undefined = []int{149, 207, 236}, [2]int{119, 148}
		l.returns, l.constants = []int{36, 239}, []int{103, 240}
	default:
		return nil
	}
	return &l
}
