package golang_test

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/need"
	"trocar/internal/process/runtimes/golang"
	"trocar/internal/process/runtimes/golang/pclntab"
)

// tinySource is a program with few functions and types.
const tinySource = `package main

type pair struct {
	a, b *pair
	m    map[string][]pair
	f    func(pair) (error, chan int)
	x    [3]any
}

//go:noinline
func (p *pair) Get(n int, s string, f float64) (*pair, error) { return p.a, nil }

type getter interface{ Get(int, string, float64) (*pair, error) }

//go:noinline
func use(v any) { g, _ := v.(getter); g.Get(1, "", 2) }

func main() { use(&pair{}) }
`

// FuzzProgram reads a Go program of which some bytes are others: each patch is one byte for the region, three for the
// place in it and one for the value; regions are the function table, the descriptions of types, the description of the
// program and the data of functions.
func FuzzProgram(f *testing.F) {
	need.Tool(f, "go")
	dir := f.TempDir()
	source, prog := filepath.Join(dir, "main.go"), filepath.Join(dir, "prog")
	if err := os.WriteFile(source, []byte(tinySource), 0o644); err != nil {
		f.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", prog,
		source).CombinedOutput(); err != nil {
		f.Fatalf("go build: %v\n%s", err, out)
	}
	image, err := os.ReadFile(prog)
	if err != nil {
		f.Fatal(err)
	}
	file, err := objfile.New("tiny", image)
	if err != nil {
		f.Fatal(err)
	}
	file.ReadTables(pclntab.Read)
	module := pclntab.Of(file).Module()
	type region struct{ at, size uint64 }
	var regions []region
	add := func(from, to uint64) {
		if at, ok := file.Offset(from); ok && to > from {
			regions = append(regions, region{at, to - from})
		}
	}
	pcln, _ := file.Section(".gopclntab")
	add(pcln.Addr, pcln.Addr+pcln.Size)
	add(file.PointerAt(module+296), file.PointerAt(module+304)) // types
	add(module, module+512)
	add(file.PointerAt(module+320), file.PointerAt(module+320)+1<<15) // funcs' data
	if len(regions) != 4 {
		f.Fatal("the program's regions are not found")
	}
	// The types of main, where patches have most to change.
	p := golang.Open(file)
	if t, ok := p.TypeNamed("main.pair"); ok && t.Source != nil {
		if at, ok := file.Offset(t.Source.RuntimeType); ok {
			regions = append(regions, region{at, 4096})
		}
	}
	f.Add([]byte{})
	f.Add([]byte{4, 0, 0, 0, 255, 4, 48, 0, 0, 255, 4, 64, 0, 0, 255})
	f.Add([]byte{2, 176, 0, 0, 1, 0, 8, 0, 0, 255, 3, 0, 0, 0, 0xfe})
	funcs, err := file.Match(objfile.NewQuery("*", ""))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, patches []byte) {
		data := append([]byte(nil), image...)
		for ; len(patches) >= 5; patches = patches[5:] {
			r := regions[int(patches[0])%len(regions)]
			at := uint64(binary.LittleEndian.Uint32(append(patches[1:4:4], 0))) % r.size
			data[r.at+at] = patches[4]
		}
		file, err := objfile.New("tiny", data)
		if err != nil {
			return
		}
		file.ReadTables(pclntab.Read)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		ask(file, funcs)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 256<<20 {
			t.Fatalf("it took %d MB", n>>20)
		}
	})
}

// ask asks a program everything.
func ask(file *objfile.File, funcs []objfile.Func) {
	p := golang.Open(file)
	for i := 0; i < len(funcs); i += 7 {
		fn, _ := p.Function(funcs[i].Addr)
		for _, param := range append(fn.Params, fn.Results...) {
			types.Declare(param.Type, "x")
			look(param.Type, 0)
		}
	}
	for _, name := range []string{"main.pair", "*main.pair", "runtime.g", "error"} {
		if t, ok := p.TypeNamed(name); ok {
			types.Declare(t, "x")
			look(t, 0)
			if t.Source == nil {
				continue
			}
			if d, ok := p.Dynamic(t.Source.RuntimeType); ok {
				look(d, 0)
			}
		}
	}
	n := 0
	pclntab.Of(file).Inlines(func(*pclntab.Inline) bool { n++; return n < 1000 })
	pclntab.Of(file).Inlined("main.use")
}

// look walks a type.
func look(t *types.Type, depth int) {
	t = t.Complete()
	if t == nil || depth > 4 {
		return
	}
	if t.Source != nil {
		look(t.Source.Key, depth+1)
		look(t.Source.Item, depth+1)
	}
	look(t.Elem, depth+1)
	for i := range min(len(t.Fields), 20) {
		look(t.Fields[i].Type, depth+1)
	}
}
