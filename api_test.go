package trocar

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestExported holds the public packages to themselves: whatever they export can be written down by a user, so that no
// exported name, field, method, parameter or alias has a type of an internal package.
func TestExported(t *testing.T) {
	w := &exported{seen: map[types.Type]bool{}}
	for path, p := range load(t, module, module+"/result") {
		for _, name := range p.Scope().Names() {
			if o := p.Scope().Lookup(name); o.Exported() {
				w.where = path + "." + name
				w.object(o)
			}
		}
	}
	for _, fault := range w.faults {
		t.Error(fault)
	}
	if len(w.seen) < 20 {
		t.Errorf("only %d types were looked at", len(w.seen))
	}
}

// load reads packages from what the compiler exports.
func load(t *testing.T, paths ...string) map[string]*types.Package {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Export"}, paths...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	export := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		export[p.ImportPath] = p.Export
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(export[path])
	})
	packages := map[string]*types.Package{}
	for _, path := range paths {
		p, err := imp.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		packages[path] = p
	}
	return packages
}

// exported walks through what can be reached from exported names.
type exported struct {
	where  string
	seen   map[types.Type]bool
	faults []string
}

func (w *exported) object(o types.Object) {
	if name, ok := o.(*types.TypeName); ok && name.IsAlias() {
		// An alias of another package's type shows no fields, and of an internal one nobody can use it.
		w.typ(types.Unalias(o.Type()))
		return
	}
	w.typ(o.Type())
}

func (w *exported) typ(t types.Type) {
	if n, ok := t.(interface{ Obj() *types.TypeName }); ok {
		if p := n.Obj().Pkg(); p != nil && strings.HasPrefix(p.Path()+"/", module+"/internal/") {
			w.faults = append(w.faults, fmt.Sprintf("%s has a type of an internal package: %s", w.where, t))
			return
		} else if p == nil || p.Path() != module && !strings.HasPrefix(p.Path(), module+"/") {
			return // the standard library's
		}
	}
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		w.typ(types.Unalias(t))
	case *types.Named:
		for m := range t.Methods() {
			if m.Exported() {
				w.member(m)
			}
		}
		w.typ(t.Underlying())
	case *types.Pointer:
		w.typ(t.Elem())
	case *types.Slice:
		w.typ(t.Elem())
	case *types.Array:
		w.typ(t.Elem())
	case *types.Chan:
		w.typ(t.Elem())
	case *types.Map:
		w.typ(t.Key())
		w.typ(t.Elem())
	case *types.Signature:
		for v := range t.Params().Variables() {
			w.typ(v.Type())
		}
		for v := range t.Results().Variables() {
			w.typ(v.Type())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				w.member(f)
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				w.member(m)
			}
		}
	}
}

func (w *exported) member(o types.Object) {
	where := w.where
	w.where += "." + o.Name()
	w.typ(o.Type())
	w.where = where
}
