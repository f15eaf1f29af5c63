package check

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// op is what a node does.
type op uint8

const (
	opNone       op = iota // no value (a missing else, an empty block)
	opInt                  // num, neg
	opStr                  // str
	opBool                 // num
	opTuple                // kids; names: a record
	opVar                  // v
	opMap                  // m: a whole map, as an argument
	opMapGet               // m, kids[0] key (none: scalar)
	opCall                 // fn, kids
	opEnum                 // str, num, typ: an enumerator
	opIdent                // str: a name that is no value by itself (a stack mode, a clock), or unknown
	opArg                  // num: one of the probe's arguments (args.x)
	opArgs                 // the whole args
	opRetval               // the typed result
	opUnary                // str, kids[0]
	opBinary               // str, kids[0], kids[1]
	opNil                  // str, kids[0]: a comparison with nil
	opIf                   // kids: condition, then, else; comptime
	opIncDec               // str, post, kids[0]
	opCast                 // kids: type, value
	opField                // str, kids[0]
	opTupleField           // num, kids[0]
	opIndex                // kids
	opPos                  // num: a positional parameter
	opSizeof               // kids[0] type
	opOffsetof             // kids[0] type, names: path
	opTypeinfo             // kids[0] type
	opType                 // typ, or kids[0]: typeof an expression
	opComptime             // kids[0]
	opBlock                // kids: statements; value
	opAddr                 // kids[0]: variable or map access

	// Statements.
	opExpr      // kids[0]
	opDiscard   // kids[0]
	opSetVar    // v, kids[0] value
	opSetMap    // m, kids: key (opNone: scalar), value
	opAggregate // m, fn, kids: key (opNone: scalar), arguments
	opDecl      // v, typed: kids[0] type
	opWhile     // kids: condition, body
	opForMap    // v, m, kids[0] body
	opForRange  // v, kids: start, end, body
	opUnroll    // kids: number, body
	opJump      // str, kids: value
)

// node is an expression or statement of one action while it is checked: a copy of the syntax tree with names resolved
// and sugar removed, which folding rewrites in place and inference gives types.
type node struct {
	op    op
	span  diag.Span
	str   string
	num   uint64
	neg   bool // opInt: num is a negative int64
	post  bool // opIncDec
	flag  bool // opIf: comptime; opStr: not written in the script; opDecl: has an assignment in the same statement
	names []string
	kids  []*node
	value *node // opBlock: the block's value, or nil
	v     *variable
	m     *mapState
	fn    *builtin.Func
	typ   *types.Type
	expr  *syntax.TypeExpr // opType: as written

	slot
}

// slot holds an inferred type and the rules that depend on it.
type slot struct {
	ty   ty
	deps []*rule
}

// variable is a scratch variable of an action.
type variable struct {
	name     string
	span     diag.Span
	origin   string // what made it known, for notes
	assigned bool
	decl     *node // its let, or nil
	sized    bool  // the declaration says its size: assignments don't change the type
	locked   *types.Type
	out      *Var // in the program
	addr     bool
	made     bool // some value of it is computed here, not one that the traced program has; see given

	slot
}

// mapState is a map of the script.
type mapState struct {
	name   string
	span   diag.Span // first use
	scalar bool
	known  bool // scalar is known
	decl   *syntax.MapDecl
	kind   MapKind
	used   bool
	valued bool // used in a way that gives or needs a value
	made   bool // as in variable

	key, val             slot
	lockedKey, lockedVal *types.Type
	out                  *Map
}

func (n *node) isLiteral() bool {
	switch n.op {
	case opInt, opStr, opBool:
		return true
	case opTuple:
		for _, k := range n.kids {
			if !k.isLiteral() {
				return false
			}
		}
		return true
	}
	return false
}

// truth is the value of a literal as a condition.
func (n *node) truth() bool {
	switch n.op {
	case opStr:
		return n.str != ""
	case opTuple:
		return true
	}
	return n.num != 0
}

// posInt tells whether the node is a literal that is not negative.
func (n *node) posInt() bool { return n.op == opInt && !n.neg }

// become replaces the node by another, keeping its place in the tree (rules hold pointers to nodes only while they are
// solved, and folding happens between).
func (n *node) become(m *node) {
	s := n.slot
	*n = *m
	n.slot = s
}

func (n *node) toInt(v uint64, neg bool) {
	n.reset()
	n.op, n.num, n.neg = opInt, v, neg
}

func (n *node) toBool(b bool) {
	n.reset()
	n.op = opBool
	if b {
		n.num = 1
	}
}

func (n *node) toStr(s string) {
	n.reset()
	n.op, n.str = opStr, s
}

func (n *node) reset() { *n = node{span: n.span, slot: n.slot} }

// walk visits the node and all below it, outer ones first; f returns false to leave out what is below.
func (n *node) walk(f func(*node) bool) {
	if n == nil || !f(n) {
		return
	}
	for _, k := range n.kids {
		k.walk(f)
	}
	n.value.walk(f)
}
