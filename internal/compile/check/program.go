package check

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/compile/record"
	"trocar/internal/process/probe"
	"trocar/internal/script/diag"
)

// Program is a typed script.
type Program struct {
	Maps    []*Map    // in order of first appearance
	Actions []*Action // in order of the script; several for one script probe if its points differ in types
	Config  Config

	Getopts []Getopt // named parameters used, for --help
}

// Action is one body with the points it runs at. Each becomes one BPF program per attach type.
type Action struct {
	Span   diag.Span
	Index  int // number of the script's probe it came from
	Points []*probe.Point
	Pred   Expr // nil: none
	Body   *Block
	Vars   []*Var // all scratch variables of the body, names may repeat (scopes)
	// Timed: the body asks for the duration of the call. Entries are where the functions that Points return from begin.
	Timed bool
	// Kept: the body asks for a result of which the place is known at the entries only.
	Kept    bool
	Entries []*probe.Point
}

// Map is a map of the script.
type Map struct {
	Name     string      // with '@'
	ID       int         // index in Program.Maps
	Key      *types.Type // nil: scalar. Several keys are a Tuple.
	Value    *types.Type
	Max      int // entries
	Kind     MapKind
	Span     diag.Span // first use, or the declaration
	Declared bool
}

// MapKind is the storage of a map.
type MapKind uint8

// Storages. Aggregations are per CPU whatever was declared.
const (
	Hash MapKind = iota
	LRUHash
	PerCPUHash
	PerCPULRUHash
)

// Var is a scratch variable.
type Var struct {
	Name      string // with '$'
	Type      *types.Type
	Span      diag.Span
	Addressed bool // & was taken: it must live in memory
}

// Getopt is a named parameter of the script.
type Getopt struct {
	Name, Default, Description string
	Type                       *types.Type
}

// Expr is a typed expression.
type Expr interface {
	Type() *types.Type
	Pos() diag.Span
}

// E is embedded in each expression.
type E struct {
	T    *types.Type
	Span diag.Span
}

// Type returns the type.
func (e *E) Type() *types.Type { return e.T }

// Pos returns the place.
func (e *E) Pos() diag.Span { return e.Span }

// Expressions. "Location" expressions (Deref, Field, Index of one, VarRef, MapGet of an aggregate) denote memory:
// codegen computes an address and loads only what is used.
type (
	// Const is an integer, bool, enum or pointer constant; Value holds the bits, sign-extended to 64.
	Const struct {
		E
		Value uint64
	}
	// StrConst is a string literal; its type's size is len+1. Of an array type (pton): its bytes.
	StrConst struct {
		E
		Value string
	}
	// VarRef reads a scratch variable.
	VarRef struct {
		E
		Var *Var
	}
	// MapGet reads a map entry; missing entries read as zero. Key nil: scalar map.
	// Of an aggregation with an integer value (count, sum, min, max, avg): the integer over all CPUs (type int64 or
	// uint64). Of stats: the sums over all CPUs, only as an argument of print and printf or an element of a tuple there.
	// Of others T is the map's value type.
	MapGet struct {
		E
		Map *Map
		Key Expr
	}
	// Unary: Op is "-", "!" (T bool), "~".
	Unary struct {
		E
		Op string
		X  Expr
	}
	// Binary: arithmetic and comparison. X and Y have the same type after conversion (shifts: any integer Y), which says
	// width and sign; T is bool for comparisons. Pointer arithmetic is already scaled and is computed in uint64.
	// Comparison operators == and != also apply to strings (capacities may differ), buffers (length, then bytes), and
	// byte-wise to what else has one type on both sides: arrays, tuples, records, structures, symbols, stacks ….
	Binary struct {
		E
		Op   string
		X, Y Expr
	}
	// Logic is && or ||, with short circuit; T is bool. X and Y are scalars or bool.
	Logic struct {
		E
		Op   string
		X, Y Expr
	}
	// Ternary: Then and Else have the type T (None for calls without a value).
	Ternary struct {
		E
		Cond, Then, Else Expr
	}
	// Cast converts X to T. Integers: truncate or extend by the sign of X's type; to bool: != 0. Pointer to pointer or
	// integer:
	// same bits. Integer to array and back: same bytes. Castable aggregations never appear here (see MapGet).
	// String to string of another capacity, string to int8 array, tuple to tuple element-wise, record to record by name.
	// Buffer to buffer of more capacity. C text (types.IsText, N bytes) to string of N+1 bytes: up to the first NUL, which
	// is added.
	Cast struct {
		E
		X Expr
	}
	// IncDec changes Target (VarRef or MapGet) by Step (signed, pointers already scaled); value is the old one with Post.
	IncDec struct {
		E
		Target Expr
		Step   int64
		Post   bool
	}
	// Deref is *X: memory of type T at the address X in the space of X's pointer type.
	Deref struct {
		E
		X Expr
	}
	// Member is a field of X (an aggregate in memory, a tuple or record value, or `args`): unnamed members are already
	// resolved, so Field.Offset counts from the start of X.
	Member struct {
		E
		X     Expr
		Field types.Field
		Index int // tuple and record: number of the element
	}
	// Index is X[I] of an array value or location, or a byte (int8) of a string. Bounds are known to hold if I is
	// constant, else a read beyond gives zero; flexible arrays (Len below 1) have none. I is a uint64.
	Index struct {
		E
		X, I Expr
	}
	// AddrOf is &X of a VarRef or MapGet.
	AddrOf struct {
		E
		X Expr
	}
	// TupleLit builds a tuple or record; Elems already have the fields' types.
	TupleLit struct {
		E
		Elems []Expr
	}
	// BlockExpr runs Body, then has the value of Value (nil: none, T is None).
	BlockExpr struct {
		E
		Body  *Block
		Value Expr
	}
	// ArgRef is one of the probe's named arguments: the variable of Points[i].Scope.Args at index Arg for all points.
	ArgRef struct {
		E
		Arg int
	}
	// ArgsRef is the whole `args`: a Struct type laid out by check whose fields are the arguments.
	ArgsRef struct {
		E
		First int // the number of the first; of `vars`, which is the same for local variables, they are behind the parameters
	}
	// RetvalRef is the typed result (Scope.Retval); the untyped `retval` is a Call of the builtin.
	RetvalRef struct{ E }
	// Call is a builtin. Args are what is computed at run time, typed and converted as the builtin's signature says: see
	// what fills them in, in the file of the builtin's group (call*.go).
	Call struct {
		E
		Fn   *builtin.Func
		Args []Arg
		// What the builtin is given as literals. Each is of the builtins named; of others it has its zero value.
		Format    string      // printf, errorf, warnf, debugf, cat, system, time, strftime
		Separator string      // join
		Register  string      // reg
		Filter    string      // cgroup_path: a glob of the hierarchy's name; "": all
		Symbol    string      // uaddr, percpu_kaddr
		Place     types.Place // uaddr: where the symbol is
		Clock     types.Clock // nsecs
		InitialNS bool        // pid, tid: as the initial PID namespace numbers them
		Arg       int         // argN: its number
		TextSize  int         // snapshot: bytes of a text whose length is not asked for
		// Counted: the length given to str is one of the traced program, which counts characters without a NUL.
		Counted bool
		Given   *Given       // funcargs, funcretval
		Tasks   *Tasks       // comm: where the kernel keeps the name of another process
		Syscall *SyscallArgs // syscall_args, syscall_done
	}
)

// Arg is an argument: an expression, a map, a variable to be set (find), or a type.
type Arg struct {
	Expr Expr
	Map  *Map
	Var  *Var
	Type *types.Type
}

// Stmt is a typed statement.
type Stmt interface{ Pos() diag.Span }

// S is embedded in each statement.
type S struct{ Span diag.Span }

// Pos returns the place.
func (s *S) Pos() diag.Span { return s.Span }

// Statements.
type (
	// Block is a list of statements. Scratch variables declared in it begin with zero each time it is entered.
	Block struct {
		S
		Stmts []Stmt
	}
	// ExprStmt evaluates and drops.
	ExprStmt struct {
		S
		X Expr
	}
	// SetVar assigns; Value has the variable's type (strings: at most its capacity). Decl marks the declaration.
	SetVar struct {
		S
		Var   *Var
		Value Expr // nil: zero
		Decl  bool
	}
	// SetMap assigns an entry; Value has the map's value type.
	SetMap struct {
		S
		Map   *Map
		Key   Expr
		Value Expr
	}
	// Aggregate is @x[key] = count() and its kind; Args are int64 or uint64 values: n for all but count; Hist and LHist
	// parameters are in Map.Value.
	Aggregate struct {
		S
		Map  *Map
		Key  Expr
		Args []Expr
	}
	// If runs Then or Else (either may be nil).
	If struct {
		S
		Cond       Expr
		Then, Else *Block
	}
	// While loops at most 2^23 times (the kernel's limit of iterations), which is reported when reached.
	While struct {
		S
		Cond Expr
		Body *Block
	}
	// ForRange runs Body with Var from Start up to, without, End.
	ForRange struct {
		S
		Var        *Var
		Start, End Expr
		Body       *Block
	}
	// ForMap runs Body for each entry with Var = (key, value).
	ForMap struct {
		S
		Var  *Var
		Map  *Map
		Body *Block
	}
	// Jump leaves: "break", "continue", "return".
	Jump struct {
		S
		Kind  string
		Value Expr // of return, or nil: an int64 (the result of a test probe)
	}
	// Unrolled is a loop's bodies one after another (the same *Block several times); break and continue inside belong to
	// the loop around it. (Hist and LHist count a uint64 argument as it is, an int64 below 0 in the first bucket.)
	Unrolled struct {
		S
		Bodies []*Block
	}
)

// Config is the script's configuration after defaults, environment and config block.
type Config struct {
	MaxStrlen        int
	MaxNestedDepth   int // how deep values inside others are followed to what they refer to
	MaxShownStrlen   int // bytes of a text whose length is not asked for; 0: MaxStrlen, and less inside other values
	MaxMapKeys       int
	MaxProbes        int // 0: any number
	MaxBPFProgs      int
	MaxCatBytes      int
	OnStackLimit     int
	PerfRBPages      int // 0: chosen by memory
	LogSize          int
	StackMode        types.StackMode
	StrTruncTrailer  string
	PrintMapsOnExit  bool
	MapHistograms    bool   // tables of times have their histograms
	MapTables        bool   // maps of numbers are shown as tables, the largest first
	MissingProbes    string // error, warn, ignore
	License          string
	CPPDemangle      bool
	FilterTarget     bool // probes fire only in threads that the target selects
	CPPParams        bool // func names parameters of C++'s functions; false: where it is needed to tell them apart
	LazySymbols      bool
	ShowDebugInfo    bool
	UseBlazesym      bool // accepted, without effect
	CacheUserSymbols string
	// Unstable features: error, warn, enable.
	UnstableTSeries, UnstableDwUstack, UnstableTypeinfo, UnstableImport string
}

// TextSize is how many bytes of a text are read where its length is not asked for.
func (c *Config) TextSize() int {
	if c.MaxShownStrlen > 0 {
		return min(c.MaxShownStrlen, c.MaxStrlen)
	}
	return c.MaxStrlen
}

// Capture is how values are captured, as far as settings bound it.
func (c *Config) Capture() record.Capture {
	how := record.Capture{Strlen: c.TextSize(), Inner: c.MaxShownStrlen, Levels: c.MaxNestedDepth}
	if how.Levels == 0 {
		how.Levels = -1
	}
	return how
}
