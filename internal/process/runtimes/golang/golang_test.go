package golang_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/need"
	"trocar/internal/process/runtimes/golang"
	"trocar/internal/process/runtimes/golang/pclntab"
)

// zoo builds the program with all kinds of functions, or another in its place by GO_WITNESS.
func zoo(t testing.TB, flags ...string) *objfile.File {
	t.Helper()
	path := os.Getenv("GO_WITNESS")
	if path == "" {
		need.Tool(t, "go")
		path = filepath.Join(t.TempDir(), "zoo")
		args := append([]string{"build", "-buildvcs=false", "-o", path}, flags...)
		if out, err := exec.Command("go", append(args, "testdata/zoo.go")...).CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
	}
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	f.ReadTables(pclntab.Read)
	t.Cleanup(func() { f.Close() })
	return f
}

func functions(t testing.TB, f *objfile.File) map[string]uint64 {
	t.Helper()
	funcs, err := f.Match(objfile.NewQuery("*", ""))
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]uint64{}
	for _, fn := range funcs {
		at[fn.Name] = fn.Addr
	}
	return at
}

// TestDeclarations tells what is known of functions in stripped programs.
func TestDeclarations(t *testing.T) {
	if os.Getenv("GO_WITNESS") != "" {
		t.Skip("for another program")
	}
	want := map[string]string{
		"main.(*circle).Area": "(*main.circle rax, float64 x, int rbx) (float64 x, error rax rbx)",
		"main.(*circle).Name": "(*main.circle rax) (string rax rbx)",
		"main.square.Area":    "(main.square x, float64 x, int rax) (float64 x, error rax rbx)",
		"main.square.Name":    "(main.square x) (string rax rbx)",
		"main.(*square).Area": "(*main.square rax, float64 x, int rbx) (float64 x, error rax rbx)",
		"main.color.String":   "(main.color rax) (string rax rbx)",
		"main.(*circle).grow": "(*main.circle rax, {word32, word32} rbx rcx, {word, word} rdi rsi, " +
			"float32 x, word8 r8) ?",
		"main.mixed": "(word8 rax, float64 x, {word, word} rbx rcx, float32 x, {word, word, " +
			"word} rdi rsi r8, {word, word} r9 r10)…",
		"main.variadic":                         "({word, word} rax rbx, {word, word, word} rcx rdi rsi) ?",
		"main.leaf":                             "(word ?, word ?) ?",
		"main.small":                            "(word8 rax, word8 rbx, word16 rcx, word ?) ?",
		"main.grow":                             "(word rax) ?",
		"main.main":                             "() ?",
		"main.(*list[go.shape.string]).push":    "(word rax, {word, word} rcx rdi, word rsi) ?",
		"main.(*list[go.shape.int]).push":       "(word rax, word rcx, word rdi) ?",
		"main.generic[go.shape.string]":         "({word, word} rbx rcx, word rdi) ?",
		"main.unused":                           "(word rax, {word, word} rbx rcx, float64 x, word rdi) ?",
		"main.(*circle).grow-fm":                "({word32, word32} rax rbx, {word, word} rcx rdi, float32 x, word8 rsi) ?",
		"main.(*embedded).nothing of that name": "",
	}
	for _, flags := range [][]string{{"-ldflags=-s -w"}, {"-ldflags=-s -w", "-buildmode=pie", "-trimpath"}} {
		f := zoo(t, flags...)
		p := golang.Open(f)
		at := functions(t, f)
		for name, want := range want {
			addr, ok := at[name]
			if !ok || want == "" {
				if ok != (want != "") {
					t.Errorf("%s: found %v", name, ok)
				}
				continue
			}
			fn, ok := p.Function(addr)
			if !ok {
				t.Errorf("%s is not known", name)
				continue
			}
			if got := show(&fn); got != want {
				t.Errorf("%v %s\n got %s\nwant %s", flags, name, got, want)
			}
			if !strings.HasSuffix(fn.File, "zoo.go") && !strings.HasPrefix(name, "main.(*square)") &&
				!strings.HasSuffix(name, "-fm") || fn.File != "" && fn.Line == 0 {
				t.Errorf("%s is in %s:%d", name, fn.File, fn.Line)
			}
		}
	}
}

var registers = map[int]string{0: "rax", 3: "rbx", 2: "rcx", 5: "rdi", 4: "rsi", 8: "r8", 9: "r9", 10: "r10", 11: "r11"}

func place(p types.Place) string {
	switch p.Kind {
	case types.InRegister:
		return registers[p.Reg]
	case types.InMemory:
		return fmt.Sprintf("sp+%d", p.Offset)
	case types.Constant:
		return ""
	case types.InPieces:
		var parts []string
		for _, piece := range p.Pieces {
			if s := place(piece.Place); s != "" {
				parts = append(parts, s)
			}
		}
		if len(parts) > 0 && strings.Trim(strings.Join(parts, ""), "?") == "" {
			return "?"
		}
		return strings.Join(parts, " ")
	}
	if strings.Contains(p.Why, "a floating-point register") {
		return "x"
	}
	return "?"
}

func show(fn *golang.Function) string {
	if fn.Unknown != "" {
		return "unknown"
	}
	list := func(params []golang.Param) string {
		var words []string
		for _, p := range params {
			words = append(words, strings.TrimSpace(types.Declare(p.Type, "")+" "+place(p.Place)))
		}
		return "(" + strings.Join(words, ", ") + ")"
	}
	text := list(fn.Params)
	switch {
	case fn.More:
		text += "…"
	case !fn.Signed:
		text += " ?"
	case len(fn.Results) > 0:
		text += " " + list(fn.Results)
	}
	return text
}

// TestWitness compares what the program tells of itself with its debug information: each place that is known must be
// the same.
func TestWitness(t *testing.T) {
	f := zoo(t)
	info, err := debuginfo.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer info.Close()
	p := golang.Open(f)
	equal, unknown, signed, all := 0, 0, 0, 0
	for name, addr := range functions(t, f) {
		fn, ok := p.Function(addr)
		d, err := info.FunctionAt(addr)
		if !ok || err != nil || d.Entry != addr || d.Lang != types.Go {
			continue
		}
		sig, err := info.Signature(d)
		if err != nil || fn.Unknown != "" {
			continue
		}
		all++
		in, out := typesOf(sig.Params), typesOf(sig.Results)
		at, dictionary := dictionaryAt(name)
		if dictionary {
			in = append(in[:at:at], append([]*types.Type{types.TUint64}, in[at:]...)...)
		}
		ins, outs := abi.AMD64.Go().Places(in, out, strings.HasSuffix(name, ".abi0"))
		if dictionary {
			in, ins = append(in[:at:at], in[at+1:]...), append(ins[:at:at], ins[at+1:]...)
		}
		if fn.Signed {
			signed++
			// Debug information leaves out what has no name in functions that are inlined elsewhere.
			if len(fn.Params) < len(ins) || len(sig.Results) > 0 && len(fn.Results) != len(outs) {
				t.Errorf("%s: %d and %d values, want %d and %d", name, len(fn.Params), len(fn.Results), len(ins), len(outs))
			}
			if len(fn.Params) > len(ins) {
				continue
			}
		}
		for i := range min(len(fn.Params), len(ins)) {
			if ins[i] == nil {
				continue
			}
			got := fn.Params[i]
			if a, b := types.Declare(in[i], ""), types.Declare(got.Type, ""); got.Known && plain(a) != plain(b) {
				t.Errorf("%s: argument %d is of type %s, want %s", name, i, b, a)
			}
			same, known := agree(*ins[i], got.Place, in[i].Complete().Size)
			if !same {
				t.Errorf("%s: argument %d is at %s, want %s", name, i, place(got.Place), place(*ins[i]))
			}
			if known {
				equal++
			} else {
				unknown++
			}
		}
		for i := range min(len(fn.Results), len(outs)) {
			if same, _ := agree(*outs[i], fn.Results[i].Place, out[i].Complete().Size); !same {
				t.Errorf("%s: result %d is at %s, want %s", name, i, place(fn.Results[i].Place), place(*outs[i]))
			}
		}
	}
	t.Logf("%d functions, %d with their signature; %d arguments are where debug information has them, of %d the place "+
		"is not known", all, signed, equal, unknown)
	if signed < 100 || equal < 2000 {
		t.Error("these are too few")
	}
}

// plain is a type's name without what debug information alone has.
func plain(name string) string {
	if i := strings.Index(name, "struct {"); i >= 0 {
		return name[:i]
	}
	name, _, _ = strings.Cut(name, "·")
	return strings.ReplaceAll(name, "%2e", ".")
}

func typesOf(vars []debuginfo.Var) (list []*types.Type) {
	for i := range vars {
		list = append(list, vars[i].Type)
	}
	return list
}

// dictionaryAt tells where a shared instance of a generic function has its dictionary among the arguments.
func dictionaryAt(name string) (at int, ok bool) {
	i := strings.LastIndex(name, "[go.shape.")
	if i < 0 || strings.HasPrefix(name, "type:") {
		return 0, false
	}
	rest := name[strings.LastIndexByte(name, ']')+1:]
	if strings.HasPrefix(rest, ").") {
		at, rest = 1, rest[2:]
	} else if strings.HasPrefix(rest, ".") {
		at, rest = 1, rest[1:]
	}
	for _, made := range []string{"func", "gowrap", "deferwrap", "-"} {
		if strings.Contains(rest, made) {
			return 0, false
		}
	}
	return at, true
}

// agree compares places byte by byte; known tells whether any byte's is.
func agree(want, got types.Place, size int) (same, known bool) {
	w, g := map[int]string{}, map[int]string{}
	flat(want, size, 0, w)
	flat(got, size, 0, g)
	for off, v := range g {
		if v == "?" {
			continue
		}
		if known = true; w[off] != v {
			return false, true
		}
	}
	return true, known || size == 0
}

func flat(p types.Place, size, base int, out map[int]string) {
	switch p.Kind {
	case types.InPieces:
		for _, piece := range p.Pieces {
			flat(piece.Place, piece.Size, base, out)
			base += piece.Size
		}
	case types.InMemory:
		for i := range size {
			out[base+i] = fmt.Sprintf("sp+%d", int(p.Offset)+i)
		}
	default:
		out[base] = place(p)
	}
}

// TestTypes compares types with those of debug information.
func TestTypes(t *testing.T) {
	f := zoo(t)
	info, err := debuginfo.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer info.Close()
	p := golang.Open(f)
	for _, name := range []string{
		"main.node", "main.circle", "main.embedded", "time.Time", "main.color", "os.File",
		"reflect.Value", "runtime.Error", "error",
	} {
		if os.Getenv("GO_WITNESS") != "" && strings.HasPrefix(name, "main.") {
			continue
		}
		want, err := info.TypeNamed(name, nil)
		if err != nil {
			continue
		}
		got, ok := p.TypeNamed(name)
		if !ok {
			t.Errorf("%s is not known", name)
			continue
		}
		sameType(t, name, want.Complete(), got, map[string]bool{})
	}
	if m, ok := p.TypeNamed("main.node"); ok {
		f, _ := m.Field("table")
		if f.Type.Form() != types.MapForm || f.Type.Elem == nil || f.Type.Elem.Size == 0 {
			t.Errorf("%s has no header", f.Type.Name)
		}
	}
	for _, name := range []string{"", "*", "main.nothing", "node", "***********************main.node", "[]", "main."} {
		if got, ok := p.TypeNamed(name); ok && name != "node" {
			t.Errorf("%q is %s", name, got)
		}
	}
}

func sameType(t *testing.T, path string, want, got *types.Type, seen map[string]bool) {
	t.Helper()
	want, got = want.Complete(), got.Complete()
	if seen[want.Name] && want.Name != "" || len(path) > 100 {
		return
	}
	seen[want.Name] = true
	if want.Name == "unsafe.Pointer" {
		return // debug information doesn't tell it from other pointers
	}
	if want.Kind != got.Kind || want.Size != got.Size || want.Form() != got.Form() || want.Signed != got.Signed ||
		want.Len != got.Len {
		t.Errorf("%s: kind %d size %d form %d signed %v len %d, want %d %d %d %v %d (%s)", path,
			got.Kind, got.Size, got.Form(), got.Signed, got.Len, want.Kind, want.Size, want.Form(), want.Signed, want.Len,
			want.Name)
		return
	}
	if want.Elem != nil && want.Form() != types.MapForm && want.Form() != types.ChannelForm && want.Form() !=
		types.ClosureForm && got.Elem != nil {
		sameType(t, path+"*", want.Elem, got.Elem, seen)
	}
	if want.Form() == types.MapForm {
		sameType(t, path+"[key]", want.Source.Key, got.Source.Key, seen)
		sameType(t, path+"[value]", want.Source.Item, got.Source.Item, seen)
	}
	if want.Form() == types.InterfaceForm || want.Form() == types.AnyForm {
		return
	}
	for i, f := range want.Fields {
		if i >= len(got.Fields) || got.Fields[i].Name != f.Name || got.Fields[i].Offset != f.Offset ||
			got.Fields[i].Embedded != f.Embedded {
			t.Errorf("%s.%s is missing, or elsewhere", path, f.Name)
			return
		}
		sameType(t, path+"."+f.Name, f.Type, got.Fields[i].Type, seen)
	}
}

// TestInlined compares the inlined copies with those of debug information.
func TestInlined(t *testing.T) {
	f := zoo(t)
	info, err := debuginfo.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer info.Close()
	var once sync.Once
	checked := 0
	for _, name := range []string{
		"sync.(*Mutex).Lock", "strings.HasPrefix", "errors.New", "fmt.Println",
		"os.(*File).checkValid",
	} {
		fns, err := info.FunctionsNamed(name)
		if err != nil || len(fns) != 1 {
			continue
		}
		copies, _, _, err := info.AllCopies(fns[0])
		if err != nil {
			continue
		}
		entries := map[uint64]bool{}
		for _, c := range pclntab.Of(f).Inlined(name) {
			if len(c.Whole) > 0 {
				entries[c.Whole[0].Low] = true
			}
		}
		missing := 0
		for _, c := range copies {
			if !entries[c.Entry] {
				missing++
				once.Do(func() { t.Logf("%s at %#x", name, c.Entry) })
			}
		}
		t.Logf("%s: %d copies, %d of debug information's %d are not among them", name, len(entries), missing, len(copies))
		if missing*20 > len(copies) {
			t.Errorf("too many")
		}
		checked += len(copies)
	}
	if checked < 15 {
		t.Errorf("%d copies", checked)
	}
}
