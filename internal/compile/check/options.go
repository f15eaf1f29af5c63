package check

import (
	"fmt"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/compile/builtin"
	"trocar/internal/script/syntax"
)

// getopt is a named parameter that the script asks for.
type getopt struct {
	Getopt
	def *node
}

// readOptions puts the values of named parameters in where the script asks for them.
func (c *checker) readOptions() {
	for _, act := range c.actions {
		for _, root := range []*node{act.pred, act.body} {
			root.walk(func(n *node) bool {
				if is(n, builtin.GetOpt) {
					c.readOption(n)
					return false
				}
				return true
			})
		}
	}
}

func (c *checker) optionNamed(name string) *getopt {
	for _, g := range c.getopts {
		if g.Name == name {
			return g
		}
	}
	return nil
}

func (c *checker) readOption(n *node) {
	if len(n.kids) < 1 || len(n.kids) > 3 {
		c.errorf(n.span, "The 'getopt' function can take a maximum of three arguments and a minimum of one argument.")
		return
	}
	if n.kids[0].op != opStr {
		c.errorf(n.kids[0].span, "First argument to 'getopt' must be a string literal.")
		return
	}
	def := boolNode(n.span, false)
	if len(n.kids) > 1 {
		def = n.kids[1]
	}
	if !def.isLiteral() || def.op == opTuple {
		c.errorf(def.span, "Second argument to 'getopt' must be a string literal, integer literal, or a boolean literal.")
		return
	}
	g := &getopt{Getopt: Getopt{Name: n.kids[0].str, Default: literalText(def)}, def: def}
	if len(n.kids) > 2 {
		if n.kids[2].op != opStr {
			c.errorf(n.kids[2].span, "Function 'getopt' requires the third parameter to be a string literal.")
			return
		}
		g.Description = n.kids[2].str
	}
	switch old := c.optionNamed(g.Name); {
	case old == nil:
		c.getopts = append(c.getopts, g)
	case old.def.op != def.op || old.Default != g.Default:
		c.errorf(n.span, "Command line option '%s' needs to have the same default value in all places it is used. "+
			"Previous default value: %s", g.Name, old.Default)
		return
	case g.Description != "" && old.Description != "" && g.Description != old.Description:
		c.errorf(n.span, "Command line option '%s' must have the same description in all places it's used. "+
			"Hint: You can wrap it in a macro", g.Name)
		return
	case g.Description != "":
		old.Description = g.Description
	}
	g.Type = literalOptionType(def)
	if old := c.optionNamed(g.Name); old.Type == nil {
		old.Type = g.Type
	}
	value, problem := c.optionValue(g)
	if problem != "" {
		c.errorf(noSpan, "%s", problem)
		return
	}
	if value.op == opInt {
		v := *value
		v.span = n.span
		n.kids = []*node{typeNode(n.span, g.Type), &v}
		n.op, n.fn, n.str = opCast, nil, ""
		return
	}
	n.become(value)
}

func literalText(n *node) string {
	switch {
	case n.op == opStr:
		return n.str
	case n.op == opBool && n.num != 0:
		return "true"
	case n.op == opBool:
		return "false"
	case n.neg:
		return fmt.Sprint(int64(n.num))
	}
	return fmt.Sprint(n.num)
}

// literalOptionType is the type that a default gives an option.
func literalOptionType(def *node) *types.Type {
	switch {
	case def.op == opBool:
		return types.TBool
	case def.op == opStr:
		return types.StringOf(len(def.str) + 1)
	case def.neg:
		return types.TInt64
	}
	return types.TUint64
}

// optionValue is the literal that an option stands for: what the command line says, or the default.
func (c *checker) optionValue(g *getopt) (value *node, problem string) {
	v := *g.def
	var given *Option
	for i := range c.in.Options {
		if c.in.Options[i].Name == g.Name {
			given = &c.in.Options[i] // the last one counts
		}
	}
	if given == nil {
		return &v, ""
	}
	bad := func(value, what string) string {
		return fmt.Sprintf("program command line option --%s %s (value: %s)", g.Name, what, value)
	}
	text := given.Value
	if !given.HasValue {
		switch v.op {
		case opInt:
			return nil, bad("true", "expects an integer")
		case opStr:
			return nil, bad("true", "expects a string")
		}
		text = "true"
	}
	switch v.op {
	case opBool:
		b, ok := parseBool(text)
		if !ok {
			return nil, bad(text, "expects a boolean (e.g. 'true')")
		}
		v.toBool(b)
	case opStr:
		if len(text) >= c.cfg.MaxStrlen {
			return nil, bad(text, fmt.Sprintf("string length (%d) exceeds max (%d)", len(text), c.cfg.MaxStrlen))
		}
		v.toStr(text)
	case opInt:
		digits, neg := strings.CutPrefix(text, "-")
		n, _, err := syntax.ParseInt(digits)
		switch {
		case err != nil && strings.HasPrefix(err.Error(), "overflow"):
			return nil, bad(text, "value is out of range")
		case err != nil:
			what, _, _ := strings.Cut(err.Error(), ":")
			return nil, bad(text, what)
		case neg && g.Type == types.TUint64:
			return nil, bad(text, "value is out of range: the default is not negative")
		case neg && n > 1<<63, !neg && g.Type == types.TInt64 && n > 1<<63-1:
			return nil, bad(text, "value is out of range")
		case neg:
			v.toInt(-n, n != 0)
		default:
			v.toInt(n, false)
		}
	}
	return &v, ""
}

// checkOptions refuses options that the script does not ask for.
func (c *checker) checkOptions() {
	var unexpected []string
	help := false
	for _, o := range c.in.Options {
		switch {
		case c.optionNamed(o.Name) != nil:
		case o.Name == "help":
			help = true
		default:
			unexpected = append(unexpected, "--"+o.Name)
		}
	}
	if len(unexpected) == 0 && !help {
		return
	}
	text := "unexpected program command line options: " + strings.Join(unexpected, ", ")
	if len(unexpected) == 0 {
		text = "--help prints the options of the script; it does not run"
	}
	d := c.errorf(noSpan, "%s", text)
	if len(c.getopts) == 0 {
		d.Hint("no custom program options defined.")
		return
	}
	var options []any
	for _, g := range c.getopts {
		option := "--" + g.Name
		if g.Description != "" {
			option += ": " + g.Description
		}
		options = append(options, option)
	}
	if !help {
		d.Hint("expected program options: %s"+strings.Repeat(", %s", len(options)-1), options...)
		return
	}
	d.Hint("expected program options:"+strings.Repeat("\n%s", len(options)), options...)
}
