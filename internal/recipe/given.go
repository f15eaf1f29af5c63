package recipe

import (
	"strings"

	"trocar/internal/compile/record"
)

// Of many functions the arguments are shown together (funcargs), and so are the results (funcretval), where each is one
// word in a register or a text: one program serves all of them, whatever they are called and of whatever types they
// are.

// givenWords is the size of the registers of arguments with the number of the signature.
const givenWords = 8 * 8

// together tells whether it stands for many functions, of which calls are shown.
func (fn *Function) together() bool { return fn.Whole && fn.EntryKey != "" && !fn.Syscalls }

// togetherCall shows calls of many functions.
func (s *script) togetherCall(c *call) {
	if !c.fn.Typed { // what of them is known all the same is told by each call
		bare := *c.fn
		bare.Result = nil
		s.parameters(&call{fn: &bare})
	}
	c.name = ""
	c.shown = []part{{
		field: "args_", expr: "funcargs", size: givenWords + record.MostTexts*s.bytes(AsText, 0), all: true,
	}}
}

// together tells whether the arguments are shown as one value.
func (c *call) together() bool { return len(c.shown) == 1 && c.shown[0].all }

// alike makes calls the same that differ by their functions' arguments and results only. Of those that refer to other
// values, or are not passed in a register, less is shown then: that is done if less says so, and told.
func (s *script) alike(c *call, less bool) (changed bool) {
	fn := *c.fn
	if !fn.Called || !fn.Typed || fn.Tasks != nil || fn.Probe != "" {
		return false
	}
	if texts, ok := s.words(c, less); ok && len(c.shown) > 0 && !c.together() {
		changed = true
		size := givenWords
		if texts {
			size += record.MostTexts * s.bytes(AsText, 0)
		}
		c.shown = []part{{field: "args_", expr: "funcargs", size: size, all: true}}
		fn.Params = nil
	}
	asked := s.cond != nil && mentions(s.cond, "retval")
	switch r := fn.Result; {
	case r == nil || asked || len(s.ending) > 0:
	case r.Show == Hidden:
		fn.Result = &Value{Show: Hidden}
	case fn.ResultExpr == "funcretval":
	case r.word && (!r.more || less) && returnOnly(c.returns, "uretprobe:"):
		changed = changed || r.more
		fn.Result, fn.ResultExpr = &Value{Name: "retval"}, "funcretval"
	case r.word && (!r.more && r.Show == AsValue || less) && strings.Contains(fn.ResultExpr, "*)reg("):
		// A pointer, of whatever type, is shown as an address.
		_, reg, _ := strings.Cut(fn.ResultExpr, "*)")
		fn.Result, fn.ResultExpr = &Value{Name: "retval"}, "(void *)"+reg
	case less && !r.word && r.Show != AsValue:
		changed = true
		fn.Result, fn.ResultExpr = &Value{Show: Hidden}, ""
	default:
		fn.Result = &Value{Name: r.Name, Show: r.Show, kind: r.kind}
	}
	c.fn = &fn
	return changed
}

// returnOnly tells whether all of the points are of a kind.
func returnOnly(points []string, kind string) bool {
	for _, p := range points {
		if !strings.HasPrefix(p, kind) {
			return false
		}
	}
	return len(points) > 0
}

// words tells whether all that is shown of a call's arguments are words and few texts, and whether there are texts.
func (s *script) words(c *call, less bool) (texts, ok bool) {
	if len(s.args) > 0 || s.cond != nil && !onlyWords(s.cond, append([]string{"retval", "duration"}, ofNoFunction...)) {
		return false, false
	}
	if len(c.extra) > 0 || len(c.shown) != len(c.fn.Params) {
		return false, false
	}
	n := 0
	for i, p := range c.shown {
		param := &c.fn.Params[i]
		switch {
		case p.exit != "" || p.show == Hidden && param.Show != Hidden && !less:
			return false, false
		case p.show == Hidden:
		case (!param.word || param.more) && !less:
			return false, false
		case p.show == AsText:
			n++
		}
	}
	return n > 0, n <= record.MostTexts || less
}
