package match

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trocar/internal/binary/btf"
	"trocar/internal/binary/types"
)

// kernelOptions are of a kernel with a few functions.
func kernelOptions(t *testing.T) Options {
	t.Helper()
	list := filepath.Join(t.TempDir(), "functions")
	text := "vfs_read\nvfs_readv\nvfs_reap [fs]\nvfs_rename\nvfs_record\n_printk\nno_types\n"
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	pair := &types.Type{Kind: types.Struct, Name: "struct pair", Size: 16, Align: 8}
	pointer := types.PointerTo(types.TVoid, types.Kernel)
	known := map[string]btf.Prototype{
		"vfs_read": {Result: types.TInt64, Params: []btf.Param{
			{Name: "file", Type: pointer},
			{Name: "buf", Type: pointer},
			{Name: "count", Type: types.TUint32},
			{Name: "pos", Type: pointer},
		}},
		"vfs_readv":  {Result: types.TInt32, Params: []btf.Param{{Name: "p", Type: pair}, {Name: "flag", Type: types.TBool}}},
		"vfs_reap":   {Result: types.TVoid},
		"vfs_rename": {Result: types.TVoid},
		"vfs_record": {Result: pair},
		"_printk":    {Result: types.TInt32, Params: []btf.Param{{Name: "fmt", Type: pointer}}, Vararg: true},
	}
	return Options{TraceableFunctions: list, Prototype: func(name string, raw bool) (btf.Prototype, bool) {
		p, ok := known[name]
		return p, ok && !raw
	}}
}

// TestFentry: arguments are words of the context one behind the other, a result is behind them.
func TestFentry(t *testing.T) {
	opts := kernelOptions(t)
	points, r := find(t, "fexit:vfs_read {} fexit:vfs_readv {} fexit:vfs_rename {} fexit:vfs_record {}", opts)
	if r.Diags.Errors() > 0 || len(points) != 4 {
		t.Fatalf("%d points: %v", len(points), r.Diags.All)
	}
	args := points[0].Scope.ArgsType
	if f, _ := args.Field("count"); f.Offset != 16 || args.Size != 32 || len(args.Fields) != 4 {
		t.Errorf("the arguments of vfs_read: %+v", args)
	}
	if v := points[0].Scope.Retval; v.Place.Kind != types.InContext || v.Place.Offset != 32 || v.Type != types.TInt64 {
		t.Errorf("the result of vfs_read: %+v", v)
	}
	if f, _ := points[1].Scope.ArgsType.Field("flag"); f.Offset != 16 {
		t.Errorf("behind a structure of two words at %d", f.Offset)
	}
	if v := points[1].Scope.Retval; v.Place.Offset != 24 {
		t.Errorf("the result behind three words: %+v", v)
	}
	for i, why := range map[int]string{2: "returns nothing", 3: "is not given a result of type struct pair"} {
		if p := points[i].Scope.Retval.Place; p.Kind != types.Unavailable || !strings.Contains(p.Why, why) {
			t.Errorf("%s: %+v", points[i].Name, p)
		}
	}
	points, _ = find(t, "fentry:vfs_read {}", opts)
	if s := points[0].Scope; len(points) != 1 || s.Retval != nil || s.ArgsType == nil || points[0].Func != "vfs_read" {
		t.Errorf("the entry of vfs_read: %+v", points)
	}
}

// TestFentryRefused: what the kernel would not attach to is refused with the reason and what can be done, or left
// out and told.
func TestFentryRefused(t *testing.T) {
	opts := kernelOptions(t)
	for name, why := range map[string]string{
		"fentry:vfs_reap": "is a function of the module fs", "fentry:no_types": "does not describe it",
		"fexit:_printk": "a variable number of arguments",
	} {
		points, r := find(t, name+" {}", opts)
		var told strings.Builder
		_ = r.Diags.Format(&told, false)
		way := "probe it with kprobe"
		if strings.HasPrefix(name, "fexit") {
			way = "probe it with kretprobe"
		}
		if len(points) > 0 || !strings.Contains(told.String(), why) || !strings.Contains(told.String(), way) {
			t.Errorf("%s: %d points, %s", name, len(points), told.String())
		}
	}
	points, r := find(t, "fentry:vfs_* {}", opts)
	var told strings.Builder
	_ = r.Diags.Format(&told, false)
	left := "1 of the functions is left out, vfs_reap"
	if len(points) != 4 || r.Diags.Errors() > 0 || !strings.Contains(told.String(), left) {
		t.Errorf("a pattern: %d points, %s", len(points), told.String())
	}
}
