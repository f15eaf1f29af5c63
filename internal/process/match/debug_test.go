package match

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"trocar/internal/binary/types"
	"trocar/internal/need"
	"trocar/internal/process/probe"
)

const shop = `struct item { int n; short price; char label[12]; };
struct big { long a[4]; };
__attribute__((noipa)) int sell(const struct item *it, short discount, char *note)
{
    return it->n * it->price - discount + (note != 0);
}
__attribute__((noipa)) int spin(int n)
{
    do
        n = n / 2 - 1;
    while (n > 0);
    return n;
}
__attribute__((noipa)) double weigh(double w) { return w * 2; }
__attribute__((noipa)) struct big make(void) { struct big b = { { 1, 2 } }; return b; }
int main(int argc, char **argv)
{
    struct item i = { argc, 3, "x" };
    return sell(&i, 1, argv[0]) + spin(argc) + (int)weigh(argc) + make().a[1];
}
`

var withArgs = Options{}

func TestArguments(t *testing.T) {
	for _, level := range []string{"-O0", "-O1"} {
		prog := compile(t, t.TempDir(), "shop", shop, "-g", level)
		points, r := find(t, "u:"+prog+":sell {}", withArgs)
		if len(points) != 1 || points[0].Scope == nil || len(points[0].Scope.Args) != 3 {
			t.Fatalf("%s: %+v\n%s", level, points, messages(r))
		}
		p := points[0]
		for i, name := range []string{"it", "discount", "note"} {
			v := p.Scope.Args[i]
			if v.Name != name {
				t.Errorf("%s: argument %d is %s, want %s", level, i, v.Name, name)
			}
			if level == "-O1" && (v.Place.Kind != types.InRegister || v.Place.Reg != []int{5, 4, 1}[i]) {
				t.Errorf("%s: %s is at %+v", level, name, v.Place)
			}
			if level == "-O0" && v.Place.Kind != types.InMemory {
				t.Errorf("%s: %s is at %+v", level, name, v.Place)
			}
		}
		if it := p.Scope.Args[0].Type; it.Kind != types.Pointer || len(it.Elem.Complete().Fields) != 3 {
			t.Errorf("%s: it is %s with %+v", level, it, it.Elem.Complete())
		}
		if d := p.Scope.Args[1].Type; d.Size != 2 || !d.Signed {
			t.Errorf("%s: discount is %s", level, d)
		}
		entry, _ := find(t, "u:"+prog+":sell {}", Options{Needs: []probe.Needs{{ArgN: true, Name: true}}})
		if start := entry[0].Addr - uint64(entry[0].Skip); p.Addr-uint64(p.Skip) != start {
			t.Errorf("%s: the point at %#x minus %d is not the function at %#x", level, p.Addr, p.Skip, start)
		}
		if level == "-O0" && (p.Entry || len(p.Scope.ArgN) != 3 ||
			!reflect.DeepEqual(p.Scope.ArgN[1], p.Scope.Args[1].Place)) {
			t.Errorf("behind the prologue: entry %v, %+v", p.Entry, p.Scope.ArgN)
		}
		if typ, err := r.Type(p, "struct item"); err != nil || typ == nil || typ.Complete().Size != 20 {
			t.Errorf("%s: struct item is %+v", level, typ)
		}
		if typ, err := r.Type(p, "struct nothing"); typ != nil || err != nil {
			t.Errorf("a type that is not there: %v, %v", typ, err)
		}
		if s, err := r.Symbol(p, "main"); err != nil || s.Place.Kind != types.InMemory || s.Size == 0 {
			t.Errorf("main: %+v %v", s, err)
		}
		if _, err := r.Symbol(p, "nothing"); err == nil {
			t.Error("a symbol that is not there was found")
		}
		r.Close()

		points, _ = find(t, "ur:"+prog+":sell {} ur:"+prog+":weigh {} ur:"+prog+":make {}", withArgs)
		for i, want := range []types.PlaceKind{types.InRegister, types.Unavailable, types.InMemory} {
			if sc := points[i].Scope; sc == nil || sc.Retval == nil || sc.Retval.Place.Kind != want {
				t.Errorf("%s: result of %s: %+v", level, points[i].Func, sc)
			}
		}
	}
	// A loop that begins the body comes back there: the point stays at the entry, where the calling convention tells where
	// they are.
	prog := compile(t, t.TempDir(), "shop", shop, "-g", "-O0")
	points, r := find(t, "u:"+prog+":spin {}", withArgs)
	if len(points) != 1 || points[0].Scope == nil || len(points[0].Scope.Args) != 1 {
		t.Fatalf("spin: %+v\n%s", points, messages(r))
	}
	if p := points[0]; p.Scope.Args[0].Place.Kind != types.InRegister || !p.Entry {
		t.Errorf("spin: entry %v, %+v", p.Entry, p.Scope.Args[0])
	}
}

func TestSourcePositions(t *testing.T) {
	dir := t.TempDir()
	prog := compile(t, dir, "shop", shop, "-g", "-O0")
	line := func(text string) int {
		for i, l := range strings.Split(shop, "\n") {
			if strings.Contains(l, text) {
				return i + 1
			}
		}
		t.Fatalf("no line with %s", text)
		return 0
	}
	body, entry := line("return it->n"), line("int sell(")+1
	points, r := find(t, fmt.Sprintf("u:%s@shop.c:%d {}", prog, body), Options{})
	if len(points) != 1 || points[0].Func != "sell" || points[0].Entry ||
		points[0].Name != fmt.Sprintf("uprobe:%s@shop.c:%d", prog, body) {
		t.Fatalf("%+v\n%s", points, messages(r))
	}
	// The witness is addr2line.
	out, err := exec.Command(need.Tool(t, "addr2line"), "-e", prog, fmt.Sprintf("%#x", points[0].Addr)).Output()
	if err != nil || !strings.HasSuffix(strings.Fields(string(out))[0], fmt.Sprintf("shop.c:%d", body)) {
		t.Errorf("addr2line says %s, %v", out, err)
	}
	points, r = find(t, fmt.Sprintf("u:%s@%s:%d {}", prog, filepath.Join(dir, "shop.c"), entry), Options{})
	sell, _ := find(t, "u:"+prog+":sell+0 {}", Options{})
	if len(points) != 1 || points[0].Addr-uint64(points[0].Skip) != sell[0].Addr-uint64(sell[0].Skip) {
		t.Errorf("line of the function: %d points, %+v, the function is at %#x\n%s", len(points), *points[0], sell[0].Addr,
			messages(r))
	}
	for script, said := range map[string]string{
		fmt.Sprintf("u:%s@shop.c:9999 {}", prog): "the file is known, but the line and those behind it have no code",
		fmt.Sprintf("u:%s@shap.c:4 {}", prog):    "did you mean shop.c?",
		fmt.Sprintf("ur:%s@shop.c:4 {}", prog):   "Source code location not allowed",
		"u:*@shop.c:4 {}":                        "Cannot use wildcards with source code location",
		"u:/bin/sh@shop.c:4 {}":                  "No DWARF debug info found for '/bin/sh'",
	} {
		if _, r := find(t, script, Options{}); !strings.Contains(messages(r), said) {
			t.Errorf("%s:\n%swant %s", script, messages(r), said)
		}
	}
}

func TestListedParameters(t *testing.T) {
	prog := compile(t, t.TempDir(), "shop", shop, "-g", "-O1")
	entries, diags := listAll("u:"+prog+":sell", true, Options{})
	want := []string{"const struct item* it", "short int discount", "char* note"}
	if len(entries) != 1 || !reflect.DeepEqual(entries[0].Params, want) {
		t.Errorf("%+v, want %q; %v", entries, want, diags.All)
	}
}
