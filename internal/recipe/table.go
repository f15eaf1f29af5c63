package recipe

import (
	"cmp"
	"fmt"
	"math/bits"
	"strings"

	"trocar/internal/script/syntax"
)

// What is counted is shown as a table, with a line for each function and value, the largest first.

// columns are the names of a table's columns: the function, and what the expressions are about.
func (s *script) columns(by []syntax.Expr) []string {
	return s.columnsOf([]string{cmp.Or(s.what, "function")}, by)
}

func (s *script) columnsOf(names []string, by []syntax.Expr) []string {
	used := map[string]bool{"": true, "calls": true, "count": true, "errors": true, "stack": true} // columns of ours
	for _, n := range names {
		used[n] = true
	}
	for _, x := range by {
		name := s.labels[x]
		if id, ok := x.(*syntax.Ident); ok && name == "" {
			name = id.Name
		} else if name == "" {
			name = mapName(x)
		}
		if used[name] {
			name = syntax.PrintExpr(x) // says which of several it is
		}
		for i := 2; used[name]; i++ {
			name = fmt.Sprintf("%s (%d)", syntax.PrintExpr(x), i)
		}
		used[name] = true
		names = append(names, name)
	}
	return names
}

// columned is the key of a map: for tables, with the names of columns (nil: it has none).
func (s *script) columned(values, columns []string) string {
	if s.o.Values || columns == nil {
		return strings.Join(values, ", ")
	}
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = syntax.QuoteName(columns[i]) + "=" + v
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// defaultEntries is how many keys a map has, if it is not said (max_map_keys); each of times takes more than a kilobyte
// on each CPU, so that there are fewer.
const (
	defaultEntries = 4096
	timesEntries   = 1024
	mostEntries    = 1 << 17
	stacksEach     = 16 // stacks of a function
)

// sized declares a map for an entry of each function, if the default is not right. Least is for how many there is room
// in any case; 0: the default.
func (s *script) sized(name string, fns []Function, least int) {
	n := 0
	for i := range fns {
		n += max(1, fns[i].Count)
	}
	if s.stacks {
		n *= stacksEach
	}
	if len(s.by) > 0 {
		n = max(n, defaultEntries)
	}
	if least == 0 {
		least = defaultEntries
	}
	if n = min(max(n, least), mostEntries); n != defaultEntries {
		s.line("let %s = percpuhash(%d);", name, 1<<bits.Len(uint(n-1)))
	}
}

// results shows a map at the end, and now and then.
func (s *script) results(name string) {
	s.every(name)
	s.lastly(name)
}

// every shows maps now and then, each time with what came since.
func (s *script) every(names ...string) {
	s.atIntervals(func() {
		for _, name := range names {
			s.line("  %s;\n  clear(%s);", s.printed(name), name)
		}
	})
}

// atIntervals writes what is done now and then, if that is asked for.
func (s *script) atIntervals(body func()) {
	if s.o.Every <= 0 {
		return
	}
	s.line("\ninterval:%s {\n  time(\"%%H:%%M:%%S\\n\");", span(s.o.Every))
	body()
	s.line("}")
}

// lastly shows at the end what all maps are not shown as then anyway.
func (s *script) lastly(names ...string) {
	if s.o.Top > 0 {
		s.line("\nend {\n  %s\n}", s.last(names...))
	}
}

// last shows maps at the end, where they are not shown by themselves or not so.
func (s *script) last(names ...string) string {
	var all []string
	for _, name := range names {
		text := s.printed(name) + ";"
		if s.o.Top > 0 {
			text += " clear(" + name + ");"
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n  ")
}

func (s *script) printed(name string) string {
	if s.o.Top > 0 {
		return fmt.Sprintf("print(%s, %d)", name, s.o.Top)
	}
	return "print(" + name + ")"
}
