package syntax

import (
	"slices"
	"strings"

	"trocar/internal/order"
	"trocar/internal/script/diag"
)

// Print writes a script in canonical form: what it gives parses to the same tree. C definitions are kept as written,
// and so are comments, which stay before, behind or in the statement they were. Imported scripts and the standard
// macros are not part of it.
func Print(f *File) string {
	p := &printer{prev: -1}
	if !f.expanded {
		p.src, p.comments = f.Source, f.Comments
	}
	if f.Header != "" {
		p.line(f.Header)
		p.prev = len(f.Header)
	}
	last := ""
	for _, it := range items(f) {
		if last != "" && (it.group == "" || it.group != last) {
			p.gap()
			p.prev = -1 // there is a blank line already
		}
		p.before(it.start, it.body)
		it.print(p)
		p.after(it.end)
		p.text("\n")
		last = it.group
		if last == "" {
			last = "other"
		}
	}
	p.rest()
	return p.b.String()
}

// Format gives a script in canonical form without carrying anything out that is in it: no header is read, and
// parameters stay as they are.
func Format(src *diag.Source, diags *diag.List) string {
	if len(src.Text) > MaxScript {
		diags.Errorf(diag.Span{}, "%s: the script is larger than %d bytes", src.Name, MaxScript)
		return ""
	}
	p := newParser(src, ParseOptions{}, diags)
	p.file = &File{Source: src}
	p.program()
	return Print(p.file)
}

// item is a part of a script.
type item struct {
	start, end diag.Span
	body       int    // comments before this offset stand before the item
	group      string // parts of one group stand without blank lines between them
	print      func(*printer)
}

// items lists the parts of a script in the order of its text.
func items(f *File) []item {
	var list []item
	add := func(start, end diag.Span, body int, group string, print func(*printer)) {
		list = append(list, item{start, end, body, group, print})
	}
	for _, s := range f.CText {
		add(s, s, s.Start, "c", func(p *printer) { p.text(cTextOf(s)) })
	}
	if f.Config != nil {
		add(f.ConfigSpan, f.ConfigSpan, f.ConfigSpan.Start, "config", func(p *printer) { p.config(f) })
	}
	for _, i := range f.Imports {
		add(i.Span, i.Span, i.Span.End, "import", func(p *printer) { p.text("import " + quote(i.Path) + ";") })
	}
	for _, d := range f.MapDecls {
		add(d.Span, d.Span, d.Span.End, "map", func(p *printer) {
			p.text("let " + d.Name + " = " + d.Kind + "(")
			p.expr(d.MaxExpr, anyPrec)
			p.text(");")
		})
	}
	for _, m := range f.Macros {
		if !m.Std {
			add(m.Span, m.Body.Span, m.Body.Span.Start, "", func(p *printer) { p.macro(m) })
		}
	}
	for _, fn := range f.Funcs {
		add(fn.Span, fn.Body.Span, fn.Body.Span.Start, "", func(p *printer) { p.function(fn) })
	}
	for _, pr := range f.Probes {
		add(pr.Span, pr.Body.Span, pr.Body.Span.Start, "", func(p *printer) { p.probe(pr) })
	}
	list = slices.DeleteFunc(list, func(it item) bool { return it.start.Source != f.Source })
	order.By(list, func(a, b item) int { return a.start.Start - b.start.Start })
	return list
}

func (p *printer) config(f *File) {
	p.text("config = {\n")
	p.depth++
	p.prev = -1
	for _, e := range f.Config {
		v := e.Value
		if e.Quoted {
			v = quote(v)
		}
		p.before(e.Span, e.Span.End)
		p.indent()
		p.text(e.Name + " = " + v + ";")
		p.after(e.Span)
		p.text("\n")
	}
	p.inside(f.ConfigSpan)
	p.depth--
	p.text("}")
}

func (p *printer) macro(m *Macro) {
	p.text("macro " + m.Name + "(")
	p.list(m.Params)
	p.text(") ")
	p.block(m.Body)
}

func (p *printer) function(fn *Func) {
	p.text("fn " + fn.Name + "(")
	for i, v := range fn.Params {
		if i > 0 {
			p.text(", ")
		}
		p.text(v.Name + " : ")
		p.typ(fn.Types[i])
	}
	p.text(") : ")
	p.typ(fn.Result)
	p.text(" ")
	p.block(fn.Body)
}

func (p *printer) probe(pr *Probe) {
	if pr.Name != "" {
		p.text(pr.Name + "=")
	}
	for i, ap := range pr.Points {
		if i > 0 {
			p.text(",\n")
		}
		p.text(ap.Raw)
	}
	if pr.Pred != nil {
		pred := exprText(pr.Pred, 0)
		if pred[0] == '*' || pred[0] == '/' || pred[0] == '=' {
			pred = " " + pred + " "
		}
		p.text(" /" + pred + "/")
	}
	p.text(" ")
	p.block(pr.Body)
}

// String is the attach point as a script would have it, with its parameters replaced.
func (a *AttachPoint) String() string {
	var b strings.Builder
	part := func(s string, quoted bool) {
		if !quoted && !strings.ContainsAny(s, " \t\r\n\v\f,{\"$\\") {
			b.WriteString(s)
			return
		}
		b.WriteString(QuoteText(s))
	}
	part(a.Kind, !plainKind(a.Kind))
	for i, s := range a.Parts {
		b.WriteByte(':')
		part(s, a.Quoted[i])
	}
	return b.String()
}

// plainKind tells whether the first part of an attach point needs no quotes to be taken for one.
func plainKind(kind string) bool {
	switch kind {
	case "macro", "fn", "let", "config", "import", "typedef", "struct", "union", "enum":
		return false
	}
	for i := 0; i < len(kind); i++ {
		if c := kind[i]; !isNameStart(c) && !isDigit(c) && c != '*' && c != '?' {
			return false
		}
	}
	return kind != ""
}
