package recipe

import (
	"cmp"
	"fmt"
	"strings"

	"trocar/internal/script/syntax"
)

// moment is when a call is shown, and from where its values come.
type moment struct {
	time  string // expression of its time
	tid   string // the thread, if it is not the one that runs
	part  func(part) string
	call  bool   // its beginning: there is no result yet
	ret   bool   // its return
	tail  bool   // its end, where another function goes on
	open  bool   // it has not returned
	atEnd bool   // that is told when tracing ends
	how   string // open: expression of how it was left
	stack string // the kept stack
}

// function is the name of one of several functions that are shown alike.
func (m *moment) function(c *call) string {
	what := cmp.Or(c.named, "func")
	if m.open || m.ret && c.named != "" { // rt_sigreturn ends with another number
		what = "$call.func_"
	}
	if c.named != "" {
		return "syscall_name(" + what + ")"
	}
	return what
}

const clock = "%H:%M:%S.%f"

// print writes the statement that shows a call.
func (s *script) print(indent string, c *call, m moment) {
	if s.o.Values {
		s.printRecord(indent, c, m)
	} else {
		s.printLine(indent, c, m)
	}
	if !s.o.Stack || s.o.Values {
		return
	}
	switch {
	case !c.pairs():
		s.line(`%sprintf("%%s\n", ustack);`, indent)
	case m.ret || m.open:
		s.line(`%sprintf("%%s\n", %s);`, indent, m.stack)
	}
}

// isErrno is the condition that a result of the kernel tells an error (MAX_ERRNO).
func isErrno(result string) string { return fmt.Sprintf("%s < 0 && %[1]s >= -4095", result) }

// printLine writes a line: "12:00:00.000000 PID/TID COMM name(i=1, s="x") = 5 <1.250 us>".
func (s *script) printLine(indent string, c *call, m moment) {
	format := "%s "
	args := []string{`strftime("` + clock + `", ` + m.time + `)`}
	thread := "%-7d"
	if t := c.fn.Tasks; t != nil {
		thread = t.Short + "%-6d"
	}
	if m.tid == "" {
		args = append(args, "pid", c.fn.thread(), "comm")
	} else {
		args = append(args, "$call.process_", m.tid, "$call.comm_")
	}
	format += "%7d/" + thread + " %-#15s "
	if c.name == "" {
		format += "%#s"
		args = append(args, m.function(c))
	} else {
		format += inFormat(c.name)
	}
	if m.call || !c.split {
		var parts []string
		for _, p := range c.shown {
			if p.all {
				break
			}
			text := inFormat(p.label) + "="
			switch {
			case p.show == Hidden || p.exit != "" && (m.open || m.tail):
				text += "?"
			default:
				text += "%+s"
				args = append(args, m.part(p))
			}
			parts = append(parts, text)
		}
		switch {
		case c.together():
			format += "%+s"
			args = append(args, m.part(c.shown[0]))
		case len(c.shown) > 0 || c.fn.Typed:
			format += "(" + strings.Join(parts, ", ") + ")"
		case !c.fn.Line:
			format += "(?)"
		}
	} else {
		format += "(…)"
	}
	switch {
	case m.ret:
		switch r := c.fn.Result; {
		case c.fn.together(): // with the sign before it, if there is one
			format += "%+s"
			args = append(args, "funcreturn")
		case r == nil && !c.fn.Typed:
			format += " = ?"
		case r == nil:
		case r.Show == Hidden, m.tail:
			format += " = ?"
		case c.fn.Errno:
			format += " = %+s"
			args = append(args, "syscall_result")
		default:
			format += " = %+s"
			args = append(args, s.shown(r.Show, c.fn.ResultExpr))
		}
		if len(c.results) > 0 && !m.tail {
			var parts []string
			for _, p := range c.results {
				parts = append(parts, inFormat(p.label)+"=%+s")
				args = append(args, p.exit)
			}
			format += " [" + strings.Join(parts, ", ") + "]"
		}
		format += " <%d.%03d us>"
		args = append(args, "$took / 1000", "$took % 1000")
	case m.how != "" && c.fn.Replaced:
		format += " was not seen to return: %s"
		args = append(args, m.how)
	case m.how != "":
		format += " was left: %s"
		args = append(args, m.how)
	case m.open && c.fn.Replaced:
		format += " was not seen to return"
	case m.open:
		format += " has not returned"
	}
	s.line("%sprintf(%s, %s);", indent, strings.TrimSuffix(quoted(format), `"`)+`\n"`, strings.Join(args, ", "))
}

// printRecord writes the call as one value with names.
func (s *script) printRecord(indent string, c *call, m moment) {
	name := m.function(c)
	if c.name != "" {
		name = quoted(c.name)
	}
	thread := "thread"
	if t := c.fn.Tasks; t != nil {
		thread = t.Name
	}
	fields := []string{`time=strftime("%Y-%m-%dT%H:%M:%S.%f%:z", ` + m.time + `)`}
	if m.tid == "" {
		fields = append(fields, "process=pid", thread+"="+c.fn.thread(), "command=comm")
	} else {
		fields = append(fields, "process=$call.process_", thread+"="+m.tid, "command=$call.comm_")
	}
	fields = append(fields, "function="+name)
	var parts []string
	if m.call || !c.split {
		named := map[string]bool{}
		for _, p := range c.shown {
			if p.show != Hidden && !p.all && !(p.exit != "" && (m.open || m.tail)) {
				name := p.label
				if name == "" || named[name] {
					name = p.field
				}
				named[name] = true
				parts = append(parts, syntax.QuoteName(name)+"="+m.part(p))
			}
		}
	}
	switch {
	case (m.call || !c.split) && c.together():
		fields = append(fields, "arguments="+m.part(c.shown[0]))
	case len(parts) > 0:
		fields = append(fields, "arguments=("+strings.Join(parts, ", ")+")")
	}
	switch {
	case m.ret:
		if r := c.fn.Result; r != nil && r.Show != Hidden && !m.tail {
			fields = append(fields, "result="+s.shown(r.Show, c.fn.ResultExpr))
			if c.fn.Errno {
				fields = append(fields, fmt.Sprintf(`error=(%s ? strerror(%s) : "")`, isErrno(c.fn.ResultExpr), c.fn.ResultExpr))
			}
		}
		if len(c.results) > 0 && !m.tail {
			var parts []string
			for _, p := range c.results {
				parts = append(parts, p.field+"="+p.exit)
			}
			fields = append(fields, "results=("+strings.Join(parts, ", ")+")")
		}
		fields = append(fields, "duration_ns=$took")
	case c.fn.Replaced && m.how != "":
		fields = append(fields, "return_seen=false", "unseen="+m.how)
	case c.fn.Replaced && m.open:
		fields = append(fields, "return_seen=false")
	case m.how != "":
		fields = append(fields, "returned=false", "left="+m.how)
	case m.open:
		fields = append(fields, "returned=false")
	}
	if s.o.Stack {
		switch {
		case !c.pairs():
			fields = append(fields, "stack=ustack")
		case m.ret || m.open:
			fields = append(fields, "stack="+m.stack)
		}
	}
	s.line("%sprint((%s));", indent, strings.Join(fields, ", "))
}
