package check

import (
	"fmt"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/script/diag"
)

func (m *meanings) meta() {
	const grammar = "it is a part of the grammar"
	m[builtin.SizeOf], m[builtin.OffsetOf] = meaning{elsewhere: grammar}, meaning{elsewhere: grammar}
	m[builtin.TypeOf], m[builtin.TypeInfo] = meaning{elsewhere: grammar}, meaning{elsewhere: grammar}
	m[builtin.IsStr] = meaning{literal: literalKind(func(t *types.Type) bool { return kindstr(t) == "string" })}
	m[builtin.IsPtr] = meaning{literal: literalKind(func(t *types.Type) bool { return kindstr(t) == "pointer" })}
	m[builtin.IsArray] = meaning{literal: literalKind(func(t *types.Type) bool { return kindstr(t) == "array" })}
	m[builtin.IsInteger] = meaning{literal: literalKind(func(t *types.Type) bool { return kindstr(t) == "int" })}
	m[builtin.IsUnsignedInteger] = meaning{literal: literalKind(func(t *types.Type) bool {
		return kindstr(t) == "int" && strings.HasPrefix(typestr(t), "u")
	})}
	m[builtin.IsLiteral] = meaning{elsewhere: "what is a literal is told before it is computed"} // see foldCall
	m[builtin.GetOpt] = meaning{elsewhere: "its first argument must be a string literal"}        // see readOption
	m[builtin.Config] = meaning{short: unlessArgs(func(l *lowerer, n *node) *node { return l.configRecord(n.span) })}
	m[builtin.Fail] = meaning{fill: (*builder).fail}
	m[builtin.StaticAssert] = meaning{elsewhere: byMacro}
	m[builtin.KFuncExist] = meaning{form: formKFunc, literal: func(inf *inferrer, n *node) bool {
		f := inf.in.Lookup.KernelFunc
		n.toBool(f != nil && f(n.kids[0].str))
		return true
	}}
	m[builtin.KFuncAllowed] = meaning{form: formKFunc, literal: func(inf *inferrer, n *node) bool {
		f := inf.in.Lookup.KernelFuncIn
		n.toBool(f != nil && f(n.kids[0].str, inf.act.kind))
		return true
	}}
	m[builtin.Arch] = meaning{short: func(l *lowerer, n *node) *node {
		return &node{op: opStr, span: n.span, str: l.in.Arch.String()}
	}}
	m[builtin.SafeMode] = meaning{short: func(l *lowerer, n *node) *node { return boolNode(n.span, !l.in.Unsafe) }}
}

// literalKind is whether the argument's type is of a kind.
func literalKind(is func(*types.Type) bool) func(*inferrer, *node) bool {
	return func(_ *inferrer, n *node) bool {
		t := n.kids[0].ty
		if t.none() {
			return false
		}
		n.toBool(is(t.t))
		return true
	}
}

func formKFunc(inf *inferrer, n *node, args []*node) bool {
	if args[0].op != opStr {
		inf.errorf(n.span, "%s() accepts a string literal only", callName(n))
		return false
	}
	return true
}

// fail refuses to compile with the script's own message.
func (b *builder) fail(_ *Call, n *node) bool {
	for _, k := range n.kids {
		if !k.isLiteral() || k.op == opTuple {
			b.errorf(n.span, "fail() arguments need to be literals")
			return false
		}
	}
	if n.kids[0].op != opStr {
		b.errorf(n.span, "first argument to fail() must be a string literal")
		return false
	}
	text := n.kids[0].str
	if want := len(conversions(text)); want != len(n.kids)-1 {
		b.errorf(n.span, "fail(): the message has %d conversions, but there are %d arguments for them", want, len(n.kids)-1)
		return false
	}
	if text = formatLiterals(text, n.kids[1:]); strings.TrimSpace(text) == "" {
		text = "fail() was called, with an empty message"
	}
	b.errorf(n.span, "%s", text)
	return false
}

// formatLiterals puts literals into a format, for messages only: each conversion shows its argument plainly.
func formatLiterals(format string, args []*node) string {
	var s strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			s.WriteByte(format[i])
			continue
		}
		conv, end := conversion(format, i+1)
		switch {
		case end < 0:
			s.WriteByte('%')
			continue
		case conv == "%":
			s.WriteByte('%')
		case len(args) > 0:
			a := args[0]
			args = args[1:]
			switch {
			case (conv == "x" || conv == "p") && a.op == opInt:
				fmt.Fprintf(&s, "%x", a.num)
			default:
				s.WriteString(literalText(a))
			}
		}
		i = end - 1
	}
	return s.String()
}

func (l *lowerer) configRecord(span diag.Span) *node {
	rec := &node{op: opTuple, span: span}
	for _, s := range settings {
		var v *node
		switch x := s.get(&l.cfg).(type) {
		case bool:
			v = boolNode(span, x)
		case int:
			v = &node{op: opInt, span: span, num: uint64(x)}
		case string:
			v = &node{op: opStr, span: span, str: x}
		}
		rec.names, rec.kids = append(rec.names, s.name), append(rec.kids, v)
	}
	return rec
}
