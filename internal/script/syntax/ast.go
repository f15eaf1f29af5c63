// Package syntax owns the text of scripts: lexer, parser, syntax tree, formatter, C definitions, macros and imports.
//
// It knows nothing of types or probes. A tree is what the user wrote; nothing in it is rewritten in place: macro
// expansion (Expand) copies.
//
//	text ─ Load (Parse of the script and its imports, C definitions and headers) ─▶ File ─ Expand ─▶ File
//
// The lexer (lexer.go) is a function of text and offset, so the recursive-descent parser (toplevel.go, stmt.go,
// expr.go, typeexpr.go) looks ahead and back freely. Print, Dump, Inspect and Clone work on trees. C is read by a
// preprocessor (ctoken.go, cpp.go, cmacro.go, include.go) and a parser of declarations (cdecl.go, cdeclarator.go,
// ceval.go), which cunit.go holds together.
// It is more than 4,000 lines because definitions of C, nearly half of it, are part of a script's text: what the parser
// finds them by, what macros replace and what errors point at is the same text.
//
// Everything is bounded: nesting, lengths of chains, sizes of expansions, numbers and sizes of imports and headers.
package syntax

import "trocar/internal/script/diag"

// File is one parsed script with its imports merged in (see Load).
type File struct {
	Source     *diag.Source
	Header     string      // the "#!" line without its line break, empty without
	CDefs      []CDef      // struct, union, enum, typedef and #define before the script proper, in order
	CText      []diag.Span // where they stand in Source (what #include brought stands elsewhere)
	Config     []*ConfigEntry
	ConfigSpan diag.Span   // of the whole config block
	Comments   []diag.Span // in order
	// Items in source order; those of imported scripts come first.
	Imports  []*Import
	MapDecls []*MapDecl
	Macros   []*Macro
	Funcs    []*Func
	Probes   []*Probe

	expanded bool // Expand made it
}

// ConfigEntry is one assignment of a config block. Name is lower case, without "bpftrace_".
type ConfigEntry struct {
	Span      diag.Span
	Name      string
	Value     string // text of the value: identifier, number or string without quotes
	Quoted    bool   // the value was a string
	ValueSpan diag.Span
}

// Import is an import statement of the root level, or (for headers) inside a block. Expand drops the latter.
type Import struct {
	Span diag.Span
	Path string
}

// MapDecl is `let @name = kind(max);`.
type MapDecl struct {
	Span     diag.Span
	Name     string // with '@'
	Kind     string // hash, lruhash, percpuhash, percpulruhash (as written)
	KindSpan diag.Span
	Max      uint64
	MaxExpr  Expr
}

// Macro is `macro name(params) { body }`.
type Macro struct {
	Span   diag.Span
	Name   string
	Params []Expr // *Var, *Map or *Ident
	Body   *Block // Value is the macro's value, nil for a statement macro
	Std    bool   // from the standard library
}

// Func is `fn name($a : type, …) : type { body }`. The language can define these but not yet call them.
type Func struct {
	Span   diag.Span
	Name   string
	Params []*Var
	Types  []*TypeExpr // of the parameters
	Result *TypeExpr
	Body   *Block
}

// Probe is one action block with its attach points.
type Probe struct {
	Span   diag.Span
	Name   string // optional `name=` before the first attach point
	Points []*AttachPoint
	Pred   Expr // nil: none
	Body   *Block
}

// AttachPoint is one probe specification as written: kind:part:part…
type AttachPoint struct {
	Span   diag.Span
	Raw    string   // as written
	Text   string   // with positional parameters replaced
	Kind   string   // first part as written (may be a short name or hold wildcards)
	Parts  []string // the parts behind the kind, split at ':' outside quotes; quotes removed
	Quoted []bool   // whether the part was in quotes (then '+' and ':' are plain characters)
}

// Node is anything with a place.
type Node interface{ Pos() diag.Span }

// Expr is an expression.
type Expr interface {
	Node
	expr()
}

// Stmt is a statement.
type Stmt interface {
	Node
	stmt()
}

// Place is embedded in each node.
type Place struct{ Span diag.Span }

// Pos returns the place.
func (p Place) Pos() diag.Span { return p.Span }

// Expressions.
type (
	// IntLit is an integer literal; durations are already in nanoseconds.
	IntLit struct {
		Place
		Value    uint64
		Text     string // as written
		Unsigned bool   // the value exceeds int64 or the text had a U suffix
	}
	// StrLit is a string literal, escapes resolved (bytes, not runes).
	StrLit struct {
		Place
		Value string
	}
	// BoolLit is true or false.
	BoolLit struct {
		Place
		Value bool
	}
	// Ident is a bare name: a builtin, an enum constant, a macro without arguments, a macro parameter.
	Ident struct {
		Place
		Name string
	}
	// Positional is $1, $2 …
	Positional struct {
		Place
		N int
	}
	// PositionalCount is $#.
	PositionalCount struct{ Place }
	// Var is a scratch variable; Name includes '$'.
	Var struct {
		Place
		Name string
	}
	// Map is a map without a key: `@`, `@x`; Name includes '@'.
	Map struct {
		Place
		Name string
	}
	// MapAccess is `@x[key]`; several keys are a *Tuple with Implicit set.
	MapAccess struct {
		Place
		Map *Map
		Key Expr
	}
	// Call is name(args). Args may hold *TypeExpr where the callee takes types.
	Call struct {
		Place
		Name     string
		NameSpan diag.Span
		Args     []Expr
	}
	// Unary is one of - ! ~ * & applied to X.
	Unary struct {
		Place
		Op string
		X  Expr
	}
	// Binary is X Op Y: + - * / % & | ^ << >> && || == != < <= > >=.
	Binary struct {
		Place
		Op     string
		OpSpan diag.Span
		X, Y   Expr
	}
	// Ternary is Cond ? Then : Else (Then may be nil for the `a ?: b` form).
	Ternary struct {
		Place
		Cond, Then, Else Expr
	}
	// IncDec is ++ or -- on X (a *Var, *Map or *MapAccess).
	IncDec struct {
		Place
		Op   string
		Post bool
		X    Expr
	}
	// Cast is (Type)X.
	Cast struct {
		Place
		Type *TypeExpr
		X    Expr
	}
	// Field is X.Name or X->Name (the same thing here).
	Field struct {
		Place
		X        Expr
		Name     string
		NameSpan diag.Span
		Arrow    bool
	}
	// TupleField is X.0.
	TupleField struct {
		Place
		X     Expr
		Index int
	}
	// Index is X[I] on anything but a map.
	Index struct {
		Place
		X, I Expr
	}
	// Tuple is (a, b), (a,), () or a list of map keys (Implicit).
	Tuple struct {
		Place
		Elems    []Expr
		Implicit bool
	}
	// Record is (a=1, b=2).
	Record struct {
		Place
		Names     []string
		NameSpans []diag.Span
		Elems     []Expr
	}
	// Sizeof is sizeof(type or expression). A bare name is a Type: names of types go before builtins and macros here.
	Sizeof struct {
		Place
		Type *TypeExpr // nil: X
		X    Expr
	}
	// Offsetof is offsetof(type or expression, a.b.c).
	Offsetof struct {
		Place
		Type *TypeExpr // nil: X
		X    Expr
		Path []string
	}
	// Typeinfo is typeinfo(type or expression).
	Typeinfo struct {
		Place
		Type *TypeExpr
		X    Expr
	}
	// Comptime is `comptime X`: X must fold to a constant.
	Comptime struct {
		Place
		X Expr
	}
	// BlockExpr is { stmts; value }.
	BlockExpr struct {
		Place
		Block *Block
	}
	// TypeExpr is a written type; an expression only as an argument (`typeof(x)`, macro arguments).
	TypeExpr struct {
		Place
		// Base is the type's name: "int32", "struct foo", "enum e", "union u", "string", "unsigned long"
		// (normalised to single blanks), empty with Of.
		Base   string
		Quoted bool      // Base is a name of the traced program that is written in quotes
		Of     Expr      // typeof(expression), or
		OfType *TypeExpr // typeof(type)
		Mods   []TypeMod // left to right
		// Args of a parameterised type, as in count_t or string[64]: the latter is a Mod of the array kind.
	}
)

// TypeMod is one suffix of a type: a pointer, or an array of Len elements.
type TypeMod struct {
	Pointer bool
	Len     int  // array: number of elements
	NoLen   bool // array: []
}

// Statements.
type (
	// Block is { stmts }. Value is the last expression without a semicolon where the block is used as an
	// expression (nil otherwise).
	Block struct {
		Place
		Stmts []Stmt
		Value Expr
	}
	// ExprStmt is an expression for its effect.
	ExprStmt struct {
		Place
		X Expr
	}
	// Discard is `_ = X;`.
	Discard struct {
		Place
		X Expr
	}
	// Assign is LHS Op RHS; LHS is *Var, *Map, *MapAccess (others are refused by check); Op is "=", "+=" ….
	Assign struct {
		Place
		LHS Expr
		Op  string
		RHS Expr
	}
	// VarDecl is `let $x [: type] [= value]`.
	VarDecl struct {
		Place
		Var   *Var
		Type  *TypeExpr // nil: inferred
		Value Expr      // nil: zero
	}
	// If is if/else; Else is nil, a *Block or an *If. Comptime is set for `if comptime (…)`. It is an expression where its
	// value is used (`$x = if ($y) { 1 } else { 2 }`): then the blocks have a Value.
	If struct {
		Place
		Cond     Expr
		Comptime bool
		Then     *Block
		Else     Stmt
	}
	// While is while (Cond) Body.
	While struct {
		Place
		Cond Expr
		Body *Block
	}
	// ForMap is for ($kv : @map) Body.
	ForMap struct {
		Place
		Var  *Var
		Map  *Map
		Body *Block
	}
	// ForRange is for ($i : Start..End) Body.
	ForRange struct {
		Place
		Var        *Var
		Start, End Expr
		Body       *Block
	}
	// Unroll is unroll (N) Body.
	Unroll struct {
		Place
		N    Expr
		Body *Block
	}
	// Jump is break, continue or return (Value only with return).
	Jump struct {
		Place
		Kind  string
		Value Expr
	}
)

func (*IntLit) expr()          {}
func (*StrLit) expr()          {}
func (*BoolLit) expr()         {}
func (*Ident) expr()           {}
func (*Positional) expr()      {}
func (*PositionalCount) expr() {}
func (*Var) expr()             {}
func (*Map) expr()             {}
func (*MapAccess) expr()       {}
func (*Call) expr()            {}
func (*Unary) expr()           {}
func (*Binary) expr()          {}
func (*Ternary) expr()         {}
func (*IncDec) expr()          {}
func (*Cast) expr()            {}
func (*Field) expr()           {}
func (*TupleField) expr()      {}
func (*Index) expr()           {}
func (*Tuple) expr()           {}
func (*Record) expr()          {}
func (*Sizeof) expr()          {}
func (*Offsetof) expr()        {}
func (*Typeinfo) expr()        {}
func (*Comptime) expr()        {}
func (*BlockExpr) expr()       {}
func (*TypeExpr) expr()        {}
func (*If) expr()              {}

func (*Block) stmt()    {}
func (*ExprStmt) stmt() {}
func (*Discard) stmt()  {}
func (*Assign) stmt()   {}
func (*VarDecl) stmt()  {}
func (*If) stmt()       {}
func (*While) stmt()    {}
func (*ForMap) stmt()   {}
func (*ForRange) stmt() {}
func (*Unroll) stmt()   {}
func (*Jump) stmt()     {}
func (*Import) stmt()   {}

// Pos returns the place.
func (i *Import) Pos() diag.Span { return i.Span }

// CDef is a definition of C's: *CStruct, *CEnum, *CTypedef or *CDefine.
type CDef interface{ cdef() }

// CStruct is a struct or union definition.
type CStruct struct {
	Span   diag.Span
	Union  bool
	Name   string // without "struct"; empty for unnamed ones
	Fields []CField
	Packed bool // __attribute__((packed))
	Align  int  // __attribute__((aligned(N))), 0: natural
}

// CField is one member.
type CField struct {
	Span diag.Span
	Name string // empty: unnamed struct, union or padding bit-field
	Type CType
	Bits int // width of a bit-field; -1: not one

	Align  int  // __attribute__((aligned(N))) of the member, 0: natural
	Packed bool // __attribute__((packed)) of the member: aligned to 1
}

// CType is a C type as written.
type CType struct {
	Base       string   // "int", "unsigned long", "struct foo", "enum e", "u64", "void", …
	Inline     *CStruct // a struct or union defined in place
	InlineEnum *CEnum
	// Mods are outermost last (`int *a[4]` is [pointer, array 4], `int (*p)[4]` is [array 4, pointer]), except that
	// dimensions that follow each other are in the order of the text (`int a[2][3]` is [array 2, array 3]).
	Mods []TypeMod
	Func bool // a function pointer
}

// CEnum is an enum definition.
type CEnum struct {
	Span   diag.Span
	Name   string
	Names  []string
	Values []int64
}

// CTypedef is typedef Type Name.
type CTypedef struct {
	Span diag.Span
	Name string
	Type CType
}

// CDefine is an object-like #define. Expand replaces its uses in the script by its body, parsed as an expression.
type CDefine struct {
	Span diag.Span
	Name string
	Body string

	value func() (int64, bool) // the value of a body that only C understands
	calls bool                 // the body uses macros with arguments
}

func (*CStruct) cdef()  {}
func (*CEnum) cdef()    {}
func (*CTypedef) cdef() {}
func (*CDefine) cdef()  {}
