package syntax

import (
	"path/filepath"
	"slices"
	"strings"

	"trocar/internal/script/diag"
)

// Limits of the preprocessor.
const (
	maxCTokens    = 4 << 20 // read
	maxMade       = 1 << 19 // tokens made by macros
	maxOneMade    = 1 << 16 // by one of them
	maxCMacros    = 1 << 17
	maxCDepth     = 120 // of #include and of #if
	maxMacroArgs  = 127
	maxExpandNest = 40 // of macro calls in arguments
)

// cpp is a C preprocessor (ISO C11 6.10): a stream of tokens with directives carried out and macros replaced.
//
// Errors in the script's own text are reported. In system headers what is not understood is passed over.
type cpp struct {
	diags   *diag.List
	headers *headers
	macros  map[string]*cmacro
	order   []*cmacro // in order of definition
	once    map[*diag.Source]bool

	readers []*creader
	pending []ctoken // to be read before the readers' text, last first
	left    *int     // tokens that may still be read; negative: too many were
	made    *int     // tokens that macros may still make
	nest    int

	complaints int
}

// creader reads the regions of one text.
type creader struct {
	src     *diag.Source
	regions []cSegment
	pos     int
	from    origin
	dir     string // of the file
	found   int    // place in the list of directories
	conds   []ccond
	bol     bool
}

// ccond is an #if that is open.
type ccond struct {
	at     diag.Span
	active bool // the lines are read
	taken  bool // one branch was
	outer  bool // the lines around are read
}

func newCPP(opts IncludeOptions, diags *diag.List) *cpp {
	left, made := maxCTokens, maxMade
	c := &cpp{
		diags: diags, headers: &headers{opts: opts, files: map[string]*diag.Source{}},
		once: map[*diag.Source]bool{}, left: &left, made: &made,
	}
	more := opts.CPU.Predefined
	if opts.HaveBTF {
		more = append(slices.Clone(more), "BPFTRACE_HAVE_BTF 1")
	}
	c.macros = make(map[string]*cmacro, len(predefined)+len(more))
	all := make([]cmacro, 0, len(predefined)+len(more)) // all at once: each script with C needs them
	for _, list := range [][]string{predefined, more} {
		for _, d := range list {
			name, value, _ := strings.Cut(d, " ")
			all = append(all, cmacro{name: name, builtin: true, unread: value})
			c.macros[name] = &all[len(all)-1]
		}
	}
	return c
}

// predefined are the macros of a compiler for 64-bit little-endian Linux that headers ask for.
var predefined = []string{
	"__STDC__ 1", "__STDC_VERSION__ 201112L", "__STDC_HOSTED__ 1", "__linux__ 1", "__linux 1", "linux 1", "__unix__ 1",
	"__gnu_linux__ 1", "__LP64__ 1", "_LP64 1", "__GNUC__ 4", "__GNUC_MINOR__ 2", "__GNUC_PATCHLEVEL__ 1", "__clang__ 1",
	"__clang_major__ 14", "__ELF__ 1", "__CHAR_BIT__ 8", "__SIZEOF_INT__ 4", "__SIZEOF_LONG__ 8", "__SIZEOF_POINTER__ 8",
	"__SIZEOF_LONG_LONG__ 8", "__SIZEOF_SIZE_T__ 8", "__SIZEOF_SHORT__ 2", "__ORDER_LITTLE_ENDIAN__ 1234",
	"__ORDER_BIG_ENDIAN__ 4321", "__BYTE_ORDER__ 1234", "__LITTLE_ENDIAN__ 1", "__INT_MAX__ 2147483647",
	"__LONG_MAX__ 9223372036854775807L", "__LONG_LONG_MAX__ 9223372036854775807LL", "__SCHAR_MAX__ 127",
	"__SHRT_MAX__ 32767", "__SIZE_TYPE__ unsigned long", "__PTRDIFF_TYPE__ long", "__WCHAR_TYPE__ int",
	"__WINT_TYPE__ unsigned int", "__INTMAX_TYPE__ long", "__UINTMAX_TYPE__ unsigned long", "__INT8_TYPE__ signed char",
	"__INT16_TYPE__ short", "__INT32_TYPE__ int", "__INT64_TYPE__ long", "__UINT8_TYPE__ unsigned char",
	"__UINT16_TYPE__ unsigned short", "__UINT32_TYPE__ unsigned int", "__UINT64_TYPE__ unsigned long",
	"__INTPTR_TYPE__ long", "__UINTPTR_TYPE__ unsigned long",
}

// read scans the text of a predefined macro, which few scripts ask for.
func (m *cmacro) read() {
	src := &diag.Source{Name: "<predefined>", Text: m.unread}
	for pos := 0; ; {
		t, end := scanC(m.unread, pos)
		if t.kind == cEOF {
			break
		}
		t.src, t.bol, pos = src, false, end
		m.body = append(m.body, t)
	}
	m.unread = ""
}

// push makes a text the next to be read.
func (c *cpp) push(r *creader) {
	if len(r.regions) == 0 {
		r.regions = []cSegment{{0, len(r.src.Text), false}}
	}
	r.pos, r.bol = r.regions[0].start, true
	c.readers = append(c.readers, r)
}

// next is the next token with macros replaced.
func (c *cpp) next() ctoken {
	for {
		t := c.raw()
		if t.kind != cName || t.hide.has(t.text) {
			return t
		}
		m := c.macros[t.text]
		if m == nil || !c.expandMacro(t, m) {
			return t
		}
	}
}

// raw is the next token as written, behind directives.
func (c *cpp) raw() ctoken {
	for {
		if *c.left--; *c.left < 0 {
			return ctoken{kind: cEOF}
		}
		if n := len(c.pending); n > 0 {
			t := c.pending[n-1]
			c.pending = c.pending[:n-1]
			return t
		}
		if len(c.readers) == 0 {
			return ctoken{kind: cEOF}
		}
		r := c.readers[len(c.readers)-1]
		region := r.regions[0]
		t, end := scanC(r.src.Text[:region.end], r.pos)
		t.src, t.from = r.src, r.from
		t.bol = t.bol || r.bol
		if t.kind == cEOF {
			r.regions = r.regions[1:]
			if len(r.regions) > 0 {
				r.pos, r.bol = r.regions[0].start, true
			} else {
				c.closeConds(r)
				c.readers = c.readers[:len(c.readers)-1]
			}
			if region.def && r.active() {
				return ctoken{kind: cPunct, text: ";", src: r.src, pos: region.end, bol: true}
			}
			continue
		}
		r.pos, r.bol = end, false
		if t.bol && t.is("#") {
			c.directive(r, t)
			continue
		}
		if r.active() {
			c.checkClosed(r, t)
			return t
		}
		r.skipLine(region.end)
	}
}

func (r *creader) active() bool { return len(r.conds) == 0 || r.conds[len(r.conds)-1].active }

// skipLine goes to the end of the line.
func (r *creader) skipLine(end int) {
	for {
		t, e := scanC(r.src.Text[:end], r.pos)
		if t.kind == cEOF || t.bol {
			r.bol = true
			return
		}
		r.pos = e
	}
}

// line is the rest of a directive's line as tokens.
func (c *cpp) line(r *creader) []ctoken {
	var list []ctoken
	end := r.regions[0].end
	for {
		t, e := scanC(r.src.Text[:end], r.pos)
		if t.kind == cEOF || t.bol {
			r.bol = true
			return list
		}
		*c.left--
		t.src, t.from, r.pos = r.src, r.from, e
		if r.active() {
			c.checkClosed(r, t)
		}
		list = append(list, t)
	}
}

// checkClosed reports a literal without its second quote.
func (c *cpp) checkClosed(r *creader, t ctoken) {
	if t.kind != cString && t.kind != cChar {
		return
	}
	lit := t.text[strings.IndexAny(t.text, `"'`):]
	if n := len(lit) - 1; n == 0 || lit[n] != lit[0] || escapedEnd(lit[1:n]) {
		c.errorf(r, t.span(), "missing terminating %c character", lit[0])
	}
}

func (c *cpp) closeConds(r *creader) {
	if len(r.conds) > 0 {
		c.errorf(r, r.conds[len(r.conds)-1].at, "unterminated conditional directive")
	}
}

// errorf reports what can't be understood in a text.
func (c *cpp) errorf(r *creader, at diag.Span, format string, args ...any) {
	c.complain(r.from, at, format, args...)
}

// complain reports what can't be understood, as much as the text it is in is the user's.
func (c *cpp) complain(from origin, at diag.Span, format string, args ...any) {
	if from == ofSystem {
		return
	}
	if c.complaints++; c.complaints > maxErrors {
		return
	}
	if from == ofScript {
		c.diags.Errorf(at, format, args...)
	} else {
		c.diags.Warnf(at, format, args...).Hint("this part of the header is left out")
	}
}

// directive carries out the line behind a '#'.
func (c *cpp) directive(r *creader, hash ctoken) {
	lineStart := r.pos
	toks := c.line(r)
	if len(toks) == 0 {
		return
	}
	at := hash.span().To(toks[len(toks)-1].span())
	name, rest := toks[0], toks[1:]
	switch name.text {
	case "if", "ifdef", "ifndef":
		if len(r.conds) >= maxCDepth {
			c.errorf(r, at, "#if nested too deeply")
			return
		}
		outer := r.active()
		on := outer && c.condition(r, name.text, rest)
		r.conds = append(r.conds, ccond{at, on, on, outer})
	case "elif", "elifdef", "elifndef", "else":
		if len(r.conds) == 0 {
			c.errorf(r, at, "#%s without #if", name.text)
			return
		}
		k := &r.conds[len(r.conds)-1]
		on := k.outer && !k.taken
		if on && name.text != "else" {
			on = c.condition(r, strings.TrimPrefix(name.text, "el"), rest)
		}
		k.active = on
		k.taken = k.taken || on || name.text == "else"
	case "endif":
		if len(r.conds) == 0 {
			c.errorf(r, at, "#endif without #if")
			return
		}
		r.conds = r.conds[:len(r.conds)-1]
	default:
		if r.active() {
			c.action(r, at, name, rest, lineStart)
		}
	}
}

// condition evaluates the condition of #if, #ifdef and #ifndef.
func (c *cpp) condition(r *creader, kind string, toks []ctoken) bool {
	if kind != "if" {
		if len(toks) == 0 || toks[0].kind != cName {
			return false
		}
		return (c.macros[toks[0].text] != nil) == (kind == "ifdef")
	}
	var list []ctoken
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		switch {
		case t.name("defined"):
			j := i + 1
			paren := j < len(toks) && toks[j].is("(")
			if paren {
				j++
			}
			if j >= len(toks) || toks[j].kind != cName {
				c.errorf(r, t.span(), "macro name missing")
				return false
			}
			list = append(list, number(t, c.macros[toks[j].text] != nil))
			if paren {
				j++
			}
			i = j
		case strings.HasPrefix(t.text, "__has_"):
			depth, j := 0, i+1
			for ; j < len(toks); j++ {
				if toks[j].is("(") {
					depth++
				} else if toks[j].is(")") {
					if depth--; depth == 0 {
						break
					}
				}
			}
			yes := false
			if (t.text == "__has_include" || t.text == "__has_include_next") && j < len(toks) && i+2 < j {
				src, _, _, _ := c.headers.find(strings.Trim(tokensText(toks[i+2:j]), "<>\""), toks[i+2].kind == cString, r.dir, 0)
				yes = src != nil
			}
			list = append(list, number(t, yes))
			i = j
		default:
			list = append(list, t)
		}
	}
	list = c.expandList(list)
	for i := range list {
		if list[i].kind == cName {
			list[i].kind, list[i].text = cNumber, "0"
		}
	}
	e := &ceval{toks: list}
	v, ok := e.value()
	if !ok {
		at := diag.Span{}
		if len(toks) > 0 {
			at = toks[0].span().To(toks[len(toks)-1].span())
		}
		c.errorf(r, at, "invalid expression in #if")
	}
	return ok && v.bits != 0
}

// number is a token of the value 1 or 0.
func number(t ctoken, yes bool) ctoken {
	t.kind, t.text = cNumber, "0"
	if yes {
		t.text = "1"
	}
	return t
}

// action carries out the directives that aren't conditions.
func (c *cpp) action(r *creader, at diag.Span, name ctoken, rest []ctoken, lineStart int) {
	switch name.text {
	case "define":
		c.define(r, at, rest)
	case "undef":
		if len(rest) > 0 && c.macros[rest[0].text] != nil {
			c.macros[rest[0].text].undone = true
			delete(c.macros, rest[0].text)
		}
	case "include", "include_next", "import":
		c.include(r, at, name.text == "include_next", rest, r.src.Text[lineStart:r.pos])
	case "pragma":
		if len(rest) > 0 && rest[0].name("once") {
			c.once[r.src] = true
		}
	case "error":
		c.errorf(r, at, "#error %s", tokensText(rest))
	case "warning":
		if r.from != ofSystem {
			c.diags.Warnf(at, "#warning %s", tokensText(rest))
		}
	case "line", "ident", "sccs":
	default:
		if name.kind != cNumber { // "# 12 file" is a line marker
			c.errorf(r, at, "invalid preprocessing directive #%s", name.text)
		}
	}
}

// define takes a macro in.
func (c *cpp) define(r *creader, at diag.Span, toks []ctoken) {
	if len(toks) == 0 || toks[0].kind != cName {
		c.errorf(r, at, "macro name missing")
		return
	}
	m := &cmacro{name: toks[0].text, at: at}
	toks = toks[1:]
	if len(toks) > 0 && toks[0].is("(") && !toks[0].space {
		m.fn = true
		n := m.readParams(toks[1:])
		if n == 0 || len(m.params) > maxMacroArgs {
			c.errorf(r, at, "invalid parameters of macro %s", m.name)
			return
		}
		toks = toks[1+n:]
	}
	m.body = append([]ctoken(nil), toks...)
	for i := range m.body {
		m.body[i].bol = false
	}
	if len(c.order) >= maxCMacros {
		c.errorf(r, at, "too many macros (more than %d)", maxCMacros)
		return
	}
	if old := c.macros[m.name]; old != nil {
		old.undone = true
	}
	c.macros[m.name] = m
	c.order = append(c.order, m)
}

// include makes a header the next text to be read.
func (c *cpp) include(r *creader, at diag.Span, again bool, toks []ctoken, text string) {
	name, quoted := headerName(text)
	if name == "" {
		name, quoted = headerName("include " + tokensText(c.expandList(toks)))
	}
	if name == "" {
		c.errorf(r, at, "expected \"FILENAME\" or <FILENAME>")
		return
	}
	if len(c.readers) >= maxCDepth {
		c.diags.Errorf(at, "#include nested too deeply")
		return
	}
	after := 0
	if again {
		after = r.found
	}
	src, found, system, err := c.headers.find(name, quoted, r.dir, after)
	switch {
	case err != nil:
		c.diags.Errorf(at, "cannot read '%s': %s", name, err)
	case src == nil && r.from != ofSystem:
		d := c.diags.Errorf(at, "'%s' file not found", name)
		d.Hint("searched in: %s", strings.Join(c.headers.dirs(), ", "))
	case src != nil && !c.once[src]:
		from := ofHeader
		if system || r.from == ofSystem {
			from = ofSystem
		}
		c.push(&creader{src: src, from: from, dir: filepath.Dir(src.Name), found: found})
	}
}

// headerName finds <name> or "name" behind the word include.
func headerName(text string) (name string, quoted bool) {
	text = strings.TrimLeft(text, " \t")
	text = strings.TrimLeft(text[nameEnd(text, 0):], " \t")
	if len(text) < 2 {
		return "", false
	}
	closing := byte('>')
	switch text[0] {
	case '"':
		closing = '"'
	case '<':
	default:
		return "", false
	}
	n := strings.IndexByte(text[1:], closing)
	if n < 0 || strings.IndexByte(text[1:n+1], '\n') >= 0 {
		return "", false
	}
	return text[1 : n+1], closing == '"'
}
