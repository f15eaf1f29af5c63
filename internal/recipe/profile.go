package recipe

import (
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// DefaultFrequency is how often a second each CPU is looked at, if it is not said: not 100, so as not to keep in step
// with what programs do on time.
const DefaultFrequency = 99

// profileEntries is for how many stacks there is room; more are told.
const profileEntries = 16384

// Profile writes a script that looks at what runs on each CPU so many times a second, and counts by stack. All stacks
// are shown: what share of the whole a function has is for whoever has them all.
func Profile(_ []Function, o Question, diags *diag.List) Script {
	s := &script{o: o}
	if !s.parse(diags) {
		return s.done()
	}
	s.line("let @samples = percpuhash(%d);", profileEntries)
	frequency := o.Frequency
	if frequency == 0 {
		frequency = DefaultFrequency
	}
	s.line("\nprofile:hz:%d", frequency)
	if cond := s.threads(); cond != nil {
		s.line("/%s/", syntax.PrintExpr(cond))
	}
	keys := append(append([]string{"comm"}, s.texts(s.by)...), "ustack", "kstack")
	s.line("{\n  @samples[%s] = count();\n}", s.columned(keys, append(s.columnsOf([]string{"thread"}, s.by), "stack",
		"kernel")))
	s.o.Top = 0
	s.results("@samples")
	s.timer()
	return s.done()
}
