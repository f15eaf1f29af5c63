package syntax

import (
	"strconv"
	"strings"

	"trocar/internal/script/diag"
)

// program reads a whole script: shebang, C definitions, config and imports, then everything else.
func (p *parser) program() {
	if strings.HasPrefix(p.text, "#!") {
		line, _, _ := strings.Cut(p.text, "\n")
		p.file.Header = strings.TrimRight(line, "\r \t")
		p.seek(len(line))
	} else {
		p.seek(0)
	}
	p.cSection()
	for p.tok.kind != tEOF {
		switch {
		case p.tok.word("config") && p.peek().is("="):
			p.config(p.file.Config != nil)
		case p.tok.word("import"):
			if imp := p.importStmt(); imp != nil && !p.bad {
				p.file.Imports = append(p.file.Imports, imp)
			}
		default:
			p.items()
			return
		}
		p.resync(true)
	}
}

// items reads the main part.
func (p *parser) items() {
	for p.tok.kind != tEOF {
		start := p.tok
		switch {
		case p.atCDef():
			seg := p.cExtent()
			p.errorAt(p.rangeSpan(seg), "C definitions must appear before probes and functions").
				Hint("move it to the top of the script, before config and imports")
			p.seek(seg.end)
		case p.tok.word("config") && p.peek().is("="):
			p.fail("config must appear before probes and functions").Hint("move it up, behind the C definitions")
		case p.tok.word("import"):
			p.fail("root imports must appear before probes and functions").Hint("move it up, behind the C definitions")
		case p.tok.word("macro"):
			if m := p.macro(); !p.bad {
				p.file.Macros = append(p.file.Macros, m)
			}
		case p.tok.word("fn"):
			if f := p.function(); !p.bad {
				p.file.Funcs = append(p.file.Funcs, f)
			}
		case p.tok.word("let"):
			if p.peek().kind != tMap {
				p.fail("root-level let statements need to be map declarations, e.g. let @a = hash(2);")
			} else if d := p.mapDecl(); !p.bad {
				p.file.MapDecls = append(p.file.MapDecls, d)
			}
		default:
			if pr := p.probe(); !p.bad {
				p.file.Probes = append(p.file.Probes, pr)
			}
		}
		p.resync(true)
		if p.bad {
			return // too many errors
		}
		if p.tok.start == start.start {
			p.next()
		}
	}
}

// config reads `config = { key = value; … }`.
func (p *parser) config(again bool) {
	if again {
		p.fail("duplicate config block")
		return
	}
	first := p.next()
	p.want("=")
	p.want("{")
	p.file.Config = []*ConfigEntry{}
	for !p.bad && !p.tok.is("}") {
		start := p.tok.start
		key, _ := p.name("config key")
		p.want("=")
		e := &ConfigEntry{Name: normalKey(key)}
		v := p.tok
		switch v.kind {
		case tString:
			e.Value, e.Quoted = p.stringLit(), true
		case tInt:
			e.Value = strconv.FormatUint(p.integer().Value, 10)
		case tIdent:
			e.Value = p.next().text
		default:
			p.fail("expected string, int, boolean, or ident")
		}
		e.ValueSpan, e.Span = p.tokSpan(v), p.span(start)
		if !p.tok.is("}") {
			p.want(";")
		}
		if !p.bad {
			p.file.Config = append(p.file.Config, e)
		}
	}
	p.want("}")
	p.file.ConfigSpan = p.span(first.start)
}

// normalKey is the one spelling of a configuration variable: lower case, without the prefix of its environment
// variable.
func normalKey(key string) string {
	return strings.TrimPrefix(strings.ToLower(key), "bpftrace_")
}

// importStmt reads `import "path";`.
func (p *parser) importStmt() *Import {
	start := p.next().start
	if p.tok.kind != tString {
		p.fail("expected string after 'import'")
		return nil
	}
	path := p.stringLit()
	imp := &Import{Span: p.span(start), Path: path}
	if !p.got(";") {
		p.fail("expected ';' after import")
	}
	return imp
}

// macro reads `macro name(params) { body }`.
func (p *parser) macro() *Macro {
	start := p.next().start
	m := &Macro{}
	m.Name, _ = p.name("macro name")
	m.Span = p.span(start)
	p.want("(")
	for !p.bad && !p.tok.is(")") {
		m.Params = append(m.Params, p.macroParam())
		if !p.got(",") {
			break
		}
		if p.tok.is(")") {
			p.fail("expected macro argument ($var, @map, or identifier)")
		}
	}
	p.want(")")
	m.Body = p.block()
	return m
}

func (p *parser) macroParam() Expr {
	t := p.tok
	at := Place{p.tokSpan(t)}
	switch {
	case t.kind == tVar:
		p.next()
		return &Var{at, t.text}
	case t.kind == tMap:
		p.next()
		return &Map{at, t.text}
	case t.kind != tIdent:
		p.fail("expected macro argument ($var, @map, or identifier)")
	case isBuiltin(t.text):
		p.errorAt(at.Span, "builtin '%s' can't be used as a macro argument", t.text)
	}
	p.next()
	return &Ident{at, t.text}
}

// function reads `fn name($a : type) : type { body }`.
func (p *parser) function() *Func {
	start := p.next().start
	f := &Func{}
	f.Name, _ = p.name("function name")
	f.Span = p.span(start)
	p.want("(")
	for !p.bad && !p.tok.is(")") {
		if p.tok.kind != tVar {
			p.fail("expected variable in function argument")
			break
		}
		t := p.next()
		p.want(":")
		f.Params = append(f.Params, &Var{Place{p.tokSpan(t)}, t.text})
		f.Types = append(f.Types, p.typ())
		if !p.got(",") {
			break
		}
	}
	p.want(")")
	p.want(":")
	f.Result = p.typ()
	f.Body = p.plainBlock()
	return f
}

// mapDecl reads `let @name = kind(max);`.
func (p *parser) mapDecl() *MapDecl {
	start := p.next().start
	d := &MapDecl{Name: p.next().text}
	p.want("=")
	d.Kind, d.KindSpan = p.name("map type name")
	p.want("(")
	if p.tok.kind != tInt {
		p.fail("expected positive integer for map declaration max entries")
		return nil
	}
	max := p.integer()
	d.Max, d.MaxExpr = max.Value, max
	p.want(")")
	p.got(";")
	d.Span = p.span(start)
	return d
}

// probe reads attach points, predicate and body.
func (p *parser) probe() *Probe {
	start := p.tok.start
	pr := &Probe{}
	for first := true; !p.bad; first = false {
		if !first && (p.tok.is("/") || p.tok.is("{")) {
			break // a comma behind the last one
		}
		pr.Points = append(pr.Points, p.attachPoint(pr, first))
		if !p.got(",") {
			break
		}
	}
	pr.Span = p.span(start)
	if p.got("/") {
		p.inPred = true
		pr.Pred = p.expr()
		p.inPred = false
		if !p.got("/") {
			p.fail("expected '/' to close predicate")
		}
	}
	if !p.tok.is("{") && !p.bad && p.tok.kind != tEOF {
		p.fail("expected '{'").Hint("attach points are separated by commas; one with blanks in it is put in quotes")
	}
	pr.Body = p.plainBlock()
	return pr
}

// attachPoint reads one probe specification. It ends at a blank, ',' or '{' outside quotes; '/' ends it only before the
// first ':', because behind it paths begin.
func (p *parser) attachPoint(pr *Probe, first bool) *AttachPoint {
	if p.bad {
		return nil
	}
	start, pos, colon := p.tok.start, p.tok.start, false
scan:
	for ; pos < len(p.text); pos++ {
		switch c := p.text[pos]; {
		case c == '{' || c == ',' || isSpace(c):
			break scan
		case c == '/' && pos > start && !colon:
			break scan
		case c == ':':
			colon = true
		case c == '"':
			pos = stringEnd(p.text, pos) - 1
			if p.text[pos] != '"' || pos == start {
				p.failAt(diag.Span{Source: p.src, Start: start, End: pos + 1}, "unterminated string")
				return nil
			}
		}
	}
	if pos == start {
		p.fail("expected attach point")
		return nil
	}
	p.seek(pos)
	raw := p.text[start:pos]
	if first {
		if name := raw[:nameEnd(raw, 0)]; name != "" && !isDigit(raw[0]) && strings.HasPrefix(raw[len(name):], "=") {
			pr.Name = name
			start += len(name) + 1
			raw = p.text[start:pos]
		}
	}
	ap := &AttachPoint{Span: p.span(start), Raw: raw}
	p.splitAttachPoint(ap, raw)
	return ap
}

// splitAttachPoint fills the parts of an attach point, with positional parameters replaced.
func (p *parser) splitAttachPoint(ap *AttachPoint, raw string) {
	var part, text strings.Builder
	var parts []string
	var quoted []bool
	wasQuoted, inQuotes := false, false
	endPart := func() {
		parts = append(parts, part.String())
		quoted = append(quoted, wasQuoted)
		part.Reset()
		wasQuoted = false
	}
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '"':
			inQuotes = !inQuotes
			wasQuoted = true
		case inQuotes && c == '\\' && i+1 < len(raw):
			escaped, n := Unescape(raw[i:])
			part.WriteByte(escaped)
			text.WriteString(raw[i : i+n])
			i += n - 1
			continue
		case !inQuotes && c == ':':
			endPart()
		case !inQuotes && c == '$':
			n := i + 1
			for n < len(raw) && isDigit(raw[n]) {
				n++
			}
			if n == i+1 || raw[i+1] == '0' {
				next := "$"
				if i+1 < len(raw) {
					next += raw[i+1 : i+2]
				}
				p.errors++
				p.diags.Errorf(ap.Span, "invalid trailing character for positional param: %s. Try quoting this entire part "+
					"if this is intentional e.g. \"%s\".", next[1:], next)
				part.WriteByte(c)
				break
			}
			if k, err := strconv.Atoi(raw[i+1 : n]); err == nil && k <= len(p.opts.Params) {
				for _, c := range []byte(p.opts.Params[k-1]) {
					if c == ':' {
						endPart()
					} else {
						part.WriteByte(c)
					}
				}
				text.WriteString(p.opts.Params[k-1])
			}
			i = n - 1
			continue
		default:
			part.WriteByte(c)
		}
		text.WriteByte(c)
	}
	endPart()
	ap.Text = text.String()
	ap.Kind, ap.Parts, ap.Quoted = parts[0], parts[1:], quoted[1:]
}
