package syntax

import (
	"strings"

	"trocar/internal/script/diag"
)

// Limits that keep hostile scripts from exhausting us.
const (
	MaxScript = 4 << 20 // bytes of one script
	maxDepth  = 200     // nesting of expressions, blocks and types
	maxChain  = 1000    // operators, fields or else-ifs one after another (they nest in the tree)
	maxErrors = 10      // syntax errors reported for one text
)

// ParseOptions are what a text may refer to.
type ParseOptions struct {
	Params  []string // positional parameters, for attach points
	Include IncludeOptions
}

// Parse reads a script. Imports are noted, not loaded (see Load). The file is never nil; what had errors is left out.
func Parse(src *diag.Source, opts ParseOptions, diags *diag.List) *File {
	file := &File{Source: src}
	if len(src.Text) > MaxScript {
		diags.Errorf(diag.Span{}, "%s: the script is larger than %d bytes", src.Name, MaxScript)
		return file
	}
	p := newParser(src, opts, diags)
	p.file = file
	p.program()
	if len(p.cText) > 0 || len(opts.Include.Files) > 0 {
		u := newCUnit(opts.Include, diags)
		u.readC(src, p.cText)
		file.CDefs = u.finish()
	}
	return file
}

// ParseExpr reads one expression. It is nil if there were errors.
func ParseExpr(src *diag.Source, diags *diag.List) Expr {
	if len(src.Text) > MaxScript {
		diags.Errorf(diag.Span{}, "%s: the expression is larger than %d bytes", src.Name, MaxScript)
		return nil
	}
	p := newParser(src, ParseOptions{}, diags)
	x := p.expr()
	if p.tok.kind != tEOF {
		p.fail("unexpected input")
	}
	if p.errors > 0 {
		return nil
	}
	return x
}

// parser is a recursive-descent parser over a lexer that is a function of the offset.
//
// After an error the parser is `bad`: the current token is the end of the text, so every rule returns soon and says
// nothing more, until a list of statements (or the top level) finds a place to go on from (see resync).
type parser struct {
	src   *diag.Source
	text  string
	opts  ParseOptions
	diags *diag.List
	file  *File

	tok     token // current
	end     int   // offset behind the token before
	bad     bool
	badAt   int  // offset of the token that was refused
	over    bool // nothing behind an error can be read
	errors  int
	depth   int
	inPred  bool // in a predicate, where '/' before '{' ends it
	chained int  // length of the current chain of else-ifs
	cText   []cSegment
	noted   int // offset behind the last comment kept
}

func newParser(src *diag.Source, opts ParseOptions, diags *diag.List) *parser {
	p := &parser{src: src, text: src.Text, opts: opts, diags: diags}
	p.tok = scan(p.text, 0)
	return p
}

// next goes on to the token behind the current one.
func (p *parser) next() token {
	t := p.tok
	if p.bad {
		return t
	}
	p.end = t.end
	p.tok = scan(p.text, t.end)
	if p.tok.start > p.end+1 {
		p.noteComments(p.end, p.tok.start)
	}
	return t
}

// peek is the token behind the current one.
func (p *parser) peek() token { return scan(p.text, p.tok.end) }

// seek makes the token at an offset the current one.
func (p *parser) seek(pos int) {
	p.end = pos
	p.tok = scan(p.text, pos)
	p.noteComments(pos, p.tok.start)
}

// mark and reset go back after a look ahead.
func (p *parser) mark() parser { return *p }

func (p *parser) reset(m parser) { p.tok, p.end = m.tok, m.end }

// span is the place from an offset to the end of the token before.
func (p *parser) span(start int) diag.Span {
	return diag.Span{Source: p.src, Start: start, End: max(start, p.end)}
}

func (p *parser) place(start int) Place { return Place{p.span(start)} }

func (p *parser) tokSpan(t token) diag.Span {
	return diag.Span{Source: p.src, Start: t.start, End: t.end}
}

// fail reports an error at the current token.
func (p *parser) fail(format string, args ...any) *diag.Diagnostic {
	return p.failAt(p.tokSpan(p.tok), format, args...)
}

// failAt reports an error and makes the parser bad. The diagnostic is never nil, so that callers may add hints.
func (p *parser) failAt(span diag.Span, format string, args ...any) *diag.Diagnostic {
	if p.bad {
		return &diag.Diagnostic{}
	}
	t := p.tok
	p.bad = true
	p.badAt = t.start
	p.tok = token{tEOF, t.start, t.start, ""}
	p.errors++
	d := p.diags.Errorf(span, "syntax: "+format, args...)
	p.advise(d, t)
	return d
}

// errorAt reports an error that doesn't keep the parser from going on.
func (p *parser) errorAt(span diag.Span, format string, args ...any) *diag.Diagnostic {
	if p.bad {
		return &diag.Diagnostic{}
	}
	p.errors++
	return p.diags.Errorf(span, "syntax: "+format, args...)
}

// advise adds what may help with an error at a token, whatever the error is.
func (p *parser) advise(d *diag.Diagnostic, t token) {
	switch {
	case t.kind == tBad && t.text == "'":
		d.Hint("strings are put in double quotes; a single character is written as its number")
	case t.is("=") && strings.HasSuffix(d.Text, "expected ';'"):
		d.Hint("names of variables begin with $, names of maps with @")
	case t.kind == tEOF && p.file != nil:
		for _, c := range p.file.Comments {
			text := p.text[c.Start:c.End]
			if c.End == len(p.text) && strings.HasPrefix(text, "/*") && !strings.HasSuffix(text[2:], "*/") {
				d.Note(diag.Span{Source: c.Source, Start: c.Start, End: c.Start + 2}, "this comment has no end")
			}
		}
	}
}

// resync goes on after an error: behind the next ';' of the list of statements that the error is in, or behind a
// closed group of braces, or at the '}' that ends the list. At the top level that one is skipped as well.
func (p *parser) resync(top bool) {
	if !p.bad {
		return
	}
	if p.over = p.over || p.errors >= maxErrors; p.over {
		return
	}
	p.bad = false
	depth := 0
	for t := scan(p.text, p.badAt); ; t = scan(p.text, t.end) {
		switch {
		case t.kind == tEOF:
			p.bad, p.over = true, true // what is missing is missing for a reason that was told
			return
		case t.is("{"):
			depth++
		case t.is("}") && depth == 0 && !top:
			p.end, p.tok = t.start, t
			return
		case t.is("}"):
			depth--
			if depth <= 0 {
				p.seek(t.end)
				return
			}
		case t.is(";") && depth == 0:
			p.seek(t.end)
			return
		}
	}
}

// got consumes an operator if it is there.
func (p *parser) got(punct string) bool {
	if p.tok.is(punct) {
		p.next()
		return true
	}
	return false
}

// want consumes an operator that must be there.
func (p *parser) want(punct string) bool {
	if p.got(punct) {
		return true
	}
	p.fail("expected '%s'", punct)
	return false
}

// gotWord consumes a keyword if it is there.
func (p *parser) gotWord(name string) bool {
	if p.tok.word(name) {
		p.next()
		return true
	}
	return false
}

// name consumes an identifier that must be there.
func (p *parser) name(what string) (string, diag.Span) {
	if p.tok.kind != tIdent {
		p.fail("expected %s", what)
		return "", diag.Span{}
	}
	t := p.next()
	return t.text, p.tokSpan(t)
}

// stringLit consumes a string literal that is there, and gives its value.
func (p *parser) stringLit() string {
	t := p.tok
	s, bad := unquote(t.text)
	if bad != nil {
		span := diag.Span{Source: p.src, Start: t.start + bad.start, End: t.start + bad.end}
		if bad.start == 0 {
			p.failAt(span, "%s", bad.text)
			return ""
		}
		p.errorAt(span, "%s", bad.text)
	}
	p.next()
	return s
}

// integer consumes an integer literal that is there.
func (p *parser) integer() *IntLit {
	t := p.tok
	v, unsigned, err := ParseInt(t.text)
	if err != nil {
		p.errorAt(p.tokSpan(t), "%s", err)
	}
	p.next()
	return &IntLit{Place{p.tokSpan(t)}, v, t.text, unsigned || v > 1<<63-1}
}

// enter counts nesting; each true needs a leave.
func (p *parser) enter() bool {
	if p.depth >= maxDepth {
		p.fail("nested too deeply (more than %d levels)", maxDepth)
		return false
	}
	p.depth++
	return true
}

func (p *parser) leave() { p.depth-- }

// isBuiltin tells the names that are values wherever they stand, also where a type could.
func isBuiltin(name string) bool {
	switch name {
	case "args", "ctx", "kstack", "nsecs", "pid", "tid", "ustack", "true", "false":
		return true
	}
	if len(name) > 10 && name[:10] == "__builtin_" {
		return true
	}
	digits := ""
	switch {
	case len(name) > 3 && name[:3] == "arg":
		digits = name[3:]
	case len(name) > 4 && name[:4] == "sarg":
		digits = name[4:]
	default:
		return false
	}
	for i := 0; i < len(digits); i++ {
		if !isDigit(digits[i]) {
			return false
		}
	}
	return true
}
