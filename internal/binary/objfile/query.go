package objfile

import (
	"slices"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/order"
)

// Query is a pattern for function names. '*' stands for any characters. A pattern fits a function if it fits
//
//   - the name as in the file ("_ZN1A1bEi"), also with its version ("tally@TALLY_1", "tally@@TALLY_2");
//   - the name as in the source without parameters ("A::b", "depot_app::Shelf<T>::put"), with or without the arguments
//     of templates and generics ("max" fits "max<int>"), return types never counting;
//   - the name of a generic function of Go without its type arguments, or with "[...]": all its instances;
//   - the name with its parameters ("A::b(int)"), which picks one overload: that for const objects only where there is
//     no other.
//
// Blanks that do not separate words are of no matter ("A<B<int> >").
type Query struct {
	Pattern string
	// Variants finds, by a name without wildcard, also the variants that the compiler made of the function.
	Variants bool

	raw      glob
	readable glob // Pattern without needless blanks
	exact    bool // Pattern is a name
	versions bool // the pattern names a version
	demangle bool // readable names are wanted
	params   bool // the pattern has a parameter list
	noTArgs  bool // the pattern has no template arguments
	gnu      bool // the pattern has a nameless type as GNU's tools write it
	lambda   bool // the pattern has a lambda
	needles  []string
}

// Exact is the word in place of a language that says that a name is no pattern: its stars are its own.
const Exact = "exact"

// NewQuery makes a query. lang "cpp" or "rust" says that the pattern is a readable name; with "" and Exact that is
// guessed from the pattern: names with "::", "<", "(" or a blank are.
func NewQuery(pattern, lang string) *Query {
	q := &Query{Pattern: pattern, raw: newGlob(pattern), exact: lang == Exact}
	if q.exact {
		q.raw = glob{text: pattern}
	}
	q.versions = strings.Contains(pattern, "@") && !strings.HasPrefix(pattern, "@")
	q.demangle = lang != "" && !q.exact && pattern != "*" || strings.Contains(pattern, "::") ||
		strings.ContainsAny(pattern, "<( ~")
	if q.demangle {
		q.useReadable()
	}
	return q
}

func (q *Query) useReadable() {
	q.demangle = true
	q.readable = newGlob(squeeze(q.Pattern))
	if q.exact {
		q.readable = glob{text: squeeze(q.Pattern)}
	}
	q.gnu = strings.Contains(q.Pattern, "{lambda(") || strings.Contains(q.Pattern, "{unnamed type#")
	q.lambda = strings.Contains(q.Pattern, "{lambda(") || strings.Contains(q.Pattern, "'lambda")
	q.params = strings.Contains(strings.NewReplacer("(anonymous namespace)", "", "operator()", "").
		Replace(withoutLambdas(q.Pattern)), "(")
	q.noTArgs = !strings.Contains(q.Pattern, "<")
	q.needles = needles(q.Pattern)
}

// Wildcard tells whether the pattern may fit several names.
func (q *Query) Wildcard() bool { return q.raw.wild() }

// ownStars tells whether stars of a pattern may be those of a name: of types, and of operators.
func (q *Query) ownStars() bool {
	return q.Wildcard() && (strings.Contains(q.Pattern, "[") ||
		q.demangle && (strings.ContainsAny(q.Pattern, "(<") || strings.Contains(q.Pattern, "operator")))
}

// preferred are the functions of whose names a name with parameters is all, if there are such: "A::get()" is that of
// "A::get() const" only where no other is.
func (q *Query) preferred(funcs []Func) []Func {
	if !q.params || q.readable.wild() || len(funcs) < 2 {
		return funcs
	}
	style := llvmStyle
	if q.gnu {
		style = gnuStyle
	}
	whole := func(name string) bool {
		if q.raw.match(name) {
			return true
		}
		if base, _ := Variant(name); base != "" {
			name = base
		}
		full := demangledAs(style, name, false)
		return q.readable.match(squeeze(full)) || q.readable.match(squeeze(full[returnType(full):]))
	}
	var found []Func
	for i := range funcs {
		if whole(funcs[i].Name) || slices.ContainsFunc(funcs[i].Aliases, whole) {
			found = append(found, funcs[i])
		}
	}
	if len(found) == 0 {
		return funcs
	}
	return found
}

// literal is the query for the name that the pattern is if its stars are its own.
func (q *Query) literal() *Query {
	r := *q
	r.exact = true
	r.raw = glob{text: q.Pattern}
	r.useReadable()
	return &r
}

// Match tells whether the query fits a symbol.
func (q *Query) Match(s *Symbol) bool {
	if q.raw.match(s.Name) {
		return true
	}
	name := s.Name
	// By a readable pattern variants are found as their functions are: their own names are no source's.
	if base, reshaped := Variant(name); !reshaped || q.raw.wild() && q.demangle || q.Variants && !q.raw.wild() {
		name = base
		if q.raw.match(name) {
			return true
		}
	}
	if q.versions && s.Version != "" && q.raw.match(s.FullName()) {
		return true
	}
	if q.demangle {
		if before, behind, ok := types.SharedArguments(name); ok {
			return q.matchShared(name, before, behind)
		}
	}
	if q.demangle && IsMethod(name) {
		return !q.exact && q.matchMethod(name)
	}
	return q.demangle && IsMangled(name) && q.matchReadable(name)
}

// matchShared tells whether a pattern is the name of a generic function whose code several instances share, with
// "[...]" for its type arguments, as stacks have it, or without: main.max. Those with the types themselves only call
// them.
func (q *Query) matchShared(name, before, behind string) bool {
	if strings.HasPrefix(name, "type:") || q.raw.wild() {
		return false
	}
	return q.Pattern == before+behind || q.Pattern == before+"[...]"+behind
}

// Variant tells of which function a compiler made a variant, by what it put behind the name: the name in front of that,
// and whether the variant may have other parameters (GCC's constprop and isra) or has only been renamed. Parts of a
// function (".cold", ".part.0") are none: they are not called in its place.
func Variant(name string) (base string, reshaped bool) {
	base = name
	for {
		head, number := cutNumber(base)
		if number == "" {
			return base, reshaped
		}
		i := strings.LastIndexByte(head, '.')
		if i <= 0 {
			return base, reshaped
		}
		switch head[i+1:] {
		case "constprop", "isra":
			reshaped = true
		case "llvm", "lto_priv":
		default:
			return base, reshaped
		}
		base = head[:i]
	}
}

// Coroutine tells what a function that a compiler has made of a coroutine does, by its symbol: "resume" or "destroy"
// it, or both ("body": GCC's, to which what destroys it jumps, too); "" if it is none. What creates it has the
// coroutine's own name.
func Coroutine(symbol string) string {
	i := strings.LastIndexByte(symbol, '.')
	if i <= 0 {
		return ""
	}
	switch symbol[i:] {
	case ".actor":
		return "body"
	case ".resume": // LLVM's
		return "resume"
	case ".destroy", ".cleanup":
		return "destroy"
	}
	return ""
}

// cutNumber cuts ".123" off.
func cutNumber(name string) (head, number string) {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 || i == len(name)-1 {
		return name, ""
	}
	for _, c := range name[i+1:] {
		if c < '0' || c > '9' {
			return name, ""
		}
	}
	return name[:i], name[i+1:]
}

func (q *Query) matchReadable(name string) bool {
	for _, n := range q.needles {
		if !strings.Contains(name, n) {
			return false
		}
	}
	// A clone that the compiler made ("_Z3addii.cold") is not the function of that name. What resumes a coroutine is
	// called by itself, so that patterns find it.
	if cloneSuffix(name) != "" && !strings.Contains(q.Pattern, ".") && !(q.raw.wild() && Coroutine(name) != "") {
		return false
	}
	style := llvmStyle
	if q.gnu {
		style = gnuStyle
	}
	full := demangledAs(style, name, false)
	if full == name {
		return false
	}
	// A template's return type is no part of its name, but of what is shown of it: whoever pastes that means it.
	own := squeeze(full[returnType(full):])
	if full = squeeze(full); q.readable.match(own) || !q.readable.wild() && q.readable.match(full) {
		return true
	}
	if q.params { // "A::get()" is also the name of "A::get() const"
		if q.readable.match(trimQualifiers(own)) || !q.readable.wild() && q.readable.match(trimQualifiers(full)) {
			return true
		}
		if !q.lambda { // of lambdas, those of the functions around them are part of the name
			return false
		}
	}
	bare := squeeze(demangledAs(style, name, true))
	if !strings.Contains(q.Pattern, "[abi:") {
		bare = dropABITags(bare)
	}
	if q.readable.match(bare) {
		return true
	}
	// Rust's newer mangling puts the type of a method in brackets: "<Shelf<u8>>::put" is "Shelf<u8>::put" in the source.
	if plain := dropTypeBrackets(bare); plain != bare {
		if bare = plain; q.readable.match(bare) {
			return true
		}
	}
	return q.noTArgs && strings.Contains(bare, "<") && q.readable.match(dropTemplateArgs(bare))
}

// squeeze removes the blanks that do not separate two words.
func squeeze(s string) string {
	if !strings.Contains(s, " ") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == ' ' && !(i > 0 && i+1 < len(s) && wordByte(s[i-1]) && wordByte(s[i+1])) {
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// withoutLambdas leaves the parameters of lambdas out of a name: "{lambda(int)#1}", "'lambda'(int)".
func withoutLambdas(s string) string {
	for _, open := range []string{"{lambda(", "'lambda"} {
		for {
			i := strings.Index(s, open)
			if i < 0 {
				break
			}
			rest := s[i+len(open):]
			if open[0] == '\'' {
				// A number, and the second quote.
				j := strings.IndexByte(rest, '\'')
				if j < 0 || !strings.HasPrefix(rest[j+1:], "(") {
					s = s[:i] + rest
					continue
				}
				rest = rest[j+2:]
			}
			depth, end := 1, len(rest)
			for k := 0; k < len(rest) && depth > 0; k++ {
				switch rest[k] {
				case '(':
					depth++
				case ')':
					depth--
				}
				end = k + 1
			}
			s = s[:i] + "lambda" + rest[end:]
		}
	}
	return s
}

func trimQualifiers(s string) string {
	for _, q := range []string{"&&", "&", "volatile", "const"} {
		if t, ok := strings.CutSuffix(s, ")"+q); ok {
			return trimQualifiers(t + ")")
		}
	}
	return s
}

// returnType gives the length of the return type (with its blank) in front of a template function's name, as demangled.
func returnType(s string) (n int) {
	const nameless = "(anonymous namespace)"
	switch head, _, found := strings.Cut(s, " thunk to "); {
	case found && (head == "virtual" || head == "non-virtual" || head == "covariant return"):
		return 0 // one of the linker's names: "non-virtual thunk to A::f()" is not "A::f()"
	case strings.HasPrefix(s, "transaction clone for "), strings.HasPrefix(s, "non-transaction clone for "):
		return 0 // likewise
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '<' || c == '[' || c == '{':
			depth++
		case c == '>' || c == ']' || c == '}':
			depth--
		case depth > 0:
		case strings.HasPrefix(s[i:], nameless):
			i += len(nameless) - 1
		case strings.HasPrefix(s[i:], "operator") && (i == 0 || !wordByte(s[i-1])):
			return n // what follows belongs to the name: operator int, operator<
		case c == '(':
			return n
		case c == ' ':
			n = i + 1
		}
	}
	return n
}

func dropABITags(s string) string {
	for {
		i := strings.Index(s, "[abi:")
		if i < 0 {
			return s
		}
		j := strings.IndexByte(s[i:], ']')
		if j < 0 {
			return s
		}
		s = s[:i] + s[i+j+1:]
	}
}

// WithoutParams is a readable name as debug information has it: without parameters and what follows them, ABI tags, and
// the brackets that Rust writes around the type of a method.
func WithoutParams(name string) string {
	name = dropABITags(dropTypeBrackets(name))
	s := strings.TrimSuffix(name, " ")
	for _, q := range []string{" &&", " &", " volatile", " const"} {
		s = strings.TrimSuffix(s, q)
	}
	if !strings.HasSuffix(s, ")") {
		return name
	}
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 && i > 0 {
				return s[:i]
			}
		}
	}
	return name
}

// dropTypeBrackets makes "T::f" of "<T>::f"; "<T as Trait>::f" stays.
func dropTypeBrackets(s string) string {
	if !strings.HasPrefix(s, "<") {
		return s
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<':
			depth++
		case '>':
			if depth--; depth == 0 {
				if inner := s[1:i]; strings.HasPrefix(s[i+1:], "::") && !strings.Contains(inner, ">as ") &&
					!strings.Contains(inner, " as ") {
					return inner + s[i+1:]
				}
				return s
			}
		}
	}
	return s
}

// dropTemplateArgs removes all "<…>" that follow a name, and the "::" in front of them that Rust writes. Operators
// whose names have these signs stay as they are.
func dropTemplateArgs(s string) string {
	if strings.Contains(s, "operator") {
		return s
	}
	var b strings.Builder
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '<' && (depth > 0 || i > 0 && (wordByte(s[i-1]) || s[i-1] == ':')):
			depth++
		case c == '>' && depth > 0:
			depth--
		case depth > 0:
		case c == ':' && strings.HasPrefix(s[i:], "::<"):
			i++
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// needles are the words that a mangled name must hold literally for its readable form to fit the pattern, the longest
// first. They spare the demangling of nearly all other names. Words of the languages themselves are abbreviated by
// mangling, and what stands in parameter lists and template arguments may be, too.
func needles(pattern string) (words []string) {
	depth := 0
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; {
		case c == '<' || c == '(' || c == '{' || c == '[':
			depth++
			i++
		case c == '>' || c == ')' || c == '}' || c == ']':
			depth--
			i++
		case wordByte(c):
			j := i
			for j < len(pattern) && wordByte(pattern[j]) {
				j++
			}
			if w := pattern[i:j]; depth == 0 && len(w) >= 4 && !languageWord(w) && !slices.Contains(words, w) {
				words = append(words, w)
			}
			i = j
		default:
			i++
		}
	}
	order.By(words, func(a, b string) int { return len(b) - len(a) })
	if _, name, ok := strings.Cut(pattern, "operator "); ok && len(words) == 0 {
		name, _, _ = strings.Cut(name, "(")
		if code := map[string]string{"new": "nw", "new[]": "na", "delete": "dl", "delete[]": "da"}[name]; code != "" {
			words = append(words, code) // by which those that allocate are found among all names of a library
		}
	}
	return words
}

// languageWord tells whether a word may stand in a readable name without standing in the mangled one, as a whole or in
// part (the pattern may cut words with '*').
func languageWord(w string) bool {
	for i := 0; i < len(w); i++ {
		if w[i] >= 0x80 { // punycode in Rust
			return true
		}
	}
	const words = " operator anonymous namespace allocator basic_string istream ostream iostream string char_traits " +
		"basic_istream basic_ostream basic_iostream unsigned signed short long float double char bool void wchar_t " +
		"char8_t char16_t char32_t __int128 const volatile restrict delete clone vtable typeinfo guard variable thunk " +
		"virtual covariant reference temporary decltype nullptr auto lambda closure usize isize u128 i128 false true " +
		"unnamed type local constructors destructors initializer construction wrapper function template parameter object " +
		"keyed transaction "
	return strings.Contains(words, strings.TrimRight(w, "0123456789")) // 'lambda0' is the second
}

// glob is a pattern with '*'.
type glob struct {
	text  string
	parts []string // between the stars; nil: no star
}

func newGlob(pattern string) glob {
	if !strings.Contains(pattern, "*") {
		return glob{text: pattern}
	}
	var parts []string
	from := 0
	for i := range len(pattern) {
		if pattern[i] != '*' || i > 0 && pattern[i-1] == '(' && i+1 < len(pattern) && wordByte(pattern[i+1]) {
			continue // the receiver of a Go method, (*T), is none
		}
		parts = append(parts, pattern[from:i])
		from = i + 1
	}
	if parts == nil {
		return glob{text: pattern}
	}
	return glob{pattern, append(parts, pattern[from:])}
}

func (g *glob) wild() bool { return g.parts != nil }

func (g *glob) match(s string) bool {
	if g.parts == nil {
		return s == g.text
	}
	p := g.parts
	first, last := p[0], p[len(p)-1]
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return s == g.text // "(*T).Method" is also a name of Go
	}
	rest := s[len(first) : len(s)-len(last)]
	for _, part := range p[1 : len(p)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return true
}

// MatchGlob tells whether a name fits a pattern with '*'.
func MatchGlob(pattern, name string) bool {
	g := newGlob(pattern)
	return g.match(name)
}
