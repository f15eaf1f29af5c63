package syntax

import (
	"slices"
	"strconv"

	"trocar/internal/script/diag"
)

// cmacro is a #define.
type cmacro struct {
	name     string
	fn       bool
	params   []string
	variadic bool
	body     []ctoken
	unread   string // the text of a predefined one, until it is used
	at       diag.Span
	builtin  bool
	undone   bool // by #undef or a new definition
}

// readParams reads the names of parameters behind '(', and gives the number of tokens up to and with ')'; 0: they are
// wrong.
func (m *cmacro) readParams(toks []ctoken) int {
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		switch {
		case t.is(")") && len(m.params) == 0:
			return i + 1
		case t.is("..."):
			m.variadic = true
			m.params = append(m.params, "__VA_ARGS__")
		case t.kind == cName:
			m.params = append(m.params, t.text)
			if i+1 < len(toks) && toks[i+1].is("...") { // GNU's named ones
				m.variadic = true
				i++
			}
		default:
			return 0
		}
		i++
		switch {
		case i < len(toks) && toks[i].is(")"):
			return i + 1
		case i >= len(toks) || !toks[i].is(",") || m.variadic:
			return 0
		}
	}
	return 0
}

// expandMacro puts the body of a macro in front of the text. It is false if the name stands without its arguments.
func (c *cpp) expandMacro(t ctoken, m *cmacro) bool {
	if m.unread != "" {
		m.read()
	}
	hide := &hidden{m.name, t.hide}
	if !m.fn {
		c.prepend(t, c.substitute(m, nil, hide))
		return true
	}
	open := c.raw()
	if !open.is("(") {
		if open.kind != cEOF {
			c.pending = append(c.pending, open)
		}
		return false
	}
	args, ok := c.arguments(m)
	if !ok {
		return false
	}
	c.prepend(t, c.substitute(m, args, hide))
	return true
}

// prepend puts tokens before what is still to be read; they take the place of t.
func (c *cpp) prepend(t ctoken, list []ctoken) {
	for i := len(list) - 1; i >= 0; i-- {
		n := list[i]
		n.src, n.pos, n.from, n.bol = t.src, t.pos, t.from, false
		if i == 0 {
			n.space = t.space
		}
		c.pending = append(c.pending, n)
	}
}

// arguments reads the arguments of a macro call behind its '('.
func (c *cpp) arguments(m *cmacro) ([][]ctoken, bool) {
	args := [][]ctoken{nil}
	for depth := 0; ; {
		t := c.raw()
		if *c.made--; *c.made < 0 {
			*c.left = -1
		}
		switch {
		case t.kind == cEOF:
			return nil, false
		case t.is("("):
			depth++
		case t.is(")"):
			if depth == 0 {
				if len(m.params) == 0 && len(args) == 1 && len(args[0]) == 0 {
					args = nil
				}
				for len(args) < len(m.params) {
					args = append(args, nil)
				}
				return args, true
			}
			depth--
		case t.is(",") && depth == 0 && !(m.variadic && len(args) == len(m.params)):
			if len(args) > maxMacroArgs {
				return nil, false
			}
			args = append(args, nil)
			continue
		}
		args[len(args)-1] = append(args[len(args)-1], t)
	}
}

// substitute is the body of a macro with its parameters replaced (C11 6.10.3.1 to 6.10.3.3).
func (c *cpp) substitute(m *cmacro, args [][]ctoken, hide *hidden) []ctoken {
	var out []ctoken
	expanded := make([][]ctoken, len(args))
	done := make([]bool, len(args))
	param := func(t ctoken) int {
		if t.kind == cName {
			for i, p := range m.params {
				if p == t.text && i < len(args) {
					return i
				}
			}
		}
		return -1
	}
	for i := 0; i < len(m.body); i++ {
		if len(out) > maxOneMade || *c.made < 0 {
			*c.left = -1 // no more of this
			return nil
		}
		t := m.body[i]
		t.hide = hide
		*c.made--
		if m.fn && t.is("#") && i+1 < len(m.body) {
			if p := param(m.body[i+1]); p >= 0 {
				t.kind, t.text = cString, strconv.Quote(tokensText(args[p]))
				out = append(out, t)
				i++
				continue
			}
		}
		if t.is("##") && len(out) > 0 && i+1 < len(m.body) {
			next := []ctoken{m.body[i+1]}
			if p := param(m.body[i+1]); p >= 0 {
				next = args[p]
			}
			if len(next) > 0 {
				last := &out[len(out)-1]
				last.text += next[0].text
				if last.text != "" {
					if kind, end := cTokenEnd(last.text, 0); end == len(last.text) {
						last.kind = kind
					}
				}
				last.hide = hide
				out = append(out, next[1:]...)
			}
			i++
			continue
		}
		p := param(t)
		if p < 0 {
			out = append(out, t)
			continue
		}
		list := args[p]
		switch pasted := i+1 < len(m.body) && m.body[i+1].is("##"); {
		case pasted && len(list) == 0:
			t.text = "" // a placemarker
			out = append(out, t)
		case !pasted:
			if !done[p] {
				expanded[p], done[p] = c.expandList(list), true
			}
			list = expanded[p]
		}
		*c.made -= len(list)
		for j, a := range list {
			if j == 0 {
				a.space = t.space
			}
			out = append(out, a)
		}
	}
	return slices.DeleteFunc(out, func(t ctoken) bool { return t.text == "" })
}

// expandList replaces the macros in a list of tokens.
func (c *cpp) expandList(list []ctoken) []ctoken {
	if c.nest >= maxExpandNest {
		return list
	}
	sub := &cpp{
		diags: c.diags, headers: c.headers, macros: c.macros, once: c.once, left: c.left, made: c.made,
		nest: c.nest + 1,
	}
	for i := len(list) - 1; i >= 0; i-- {
		sub.pending = append(sub.pending, list[i])
	}
	var out []ctoken
	for {
		t := sub.next()
		if t.kind == cEOF {
			return out
		}
		out = append(out, t)
	}
}
