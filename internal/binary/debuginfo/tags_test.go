package debuginfo

import (
	"errors"
	"strings"
	"testing"

	"trocar/internal/binary/types"
)

func units(compiler, file string) string {
	command := ""
	for _, unit := range []string{"USER", "OTHER", "LAST"} {
		command += compiler + " -g -c -D" + unit + " -o $OUT." + unit + " $SRC/" + file + " && "
	}
	return command + compiler + " -o $OUT $OUT.USER $OUT.OTHER $OUT.LAST"
}

// behind is the type that a parameter of work points to, by its name.
func behind(t *testing.T, in *Info, name string) *types.Type {
	t.Helper()
	fns, err := in.FunctionsNamed("work")
	if err != nil || len(fns) != 1 {
		t.Fatalf("work: %v, %v", fns, err)
	}
	sig, err := in.Signature(fns[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range sig.Params {
		if p.Name == name {
			return p.Type.Elem.Complete()
		}
	}
	t.Fatalf("no parameter %s", name)
	return nil
}

// TestTags: a type that is only declared in a unit is that of another unit if there is one only.
func TestTags(t *testing.T) {
	t.Parallel()
	beside := func(compiler string) string { // the folders of source and build begin alike
		return "mkdir $OUT.from && cp $SRC/tags.c $OUT.from/ && " +
			strings.ReplaceAll(units(compiler, "tags.c"), "$SRC", "$OUT.from")
	}
	for compiler, command := range map[string]string{
		"gcc": units("gcc", "tags.c"), "gcc -gdwarf-4": units("gcc -gdwarf-4", "tags.c"),
		"clang": units("clang", "tags.c"), "clang -gdwarf-4": units("clang -gdwarf-4", "tags.c"),
		"gcc beside": beside("gcc"), "clang beside": beside("clang"), "clang -gdwarf-5 beside": beside("clang -gdwarf-5"),
	} {
		in := open(t, build(t, command))
		if c := behind(t, in, "c"); !c.Incomplete {
			t.Errorf("%s: one of two different types: %+v", compiler, c)
		}
		if c := behind(t, in, "t"); !c.Incomplete {
			t.Errorf("%s: one of two different types at the same line of two files: %+v", compiler, c)
		}
	}
	in := open(t, build(t, units("gcc", "tags.c")))
	if s := behind(t, in, "s"); s.Incomplete || s.Size != 8 {
		t.Errorf("a type that two units have alike: %+v", s)
	}
	for _, name := range []string{"struct ctx", "unlike"} {
		if _, err := in.TypeNamed(name, nil); !errors.Is(err, ErrAmbiguous) {
			t.Errorf("%s is a name of two types: %v", name, err)
		}
	}
	if typ, err := in.TypeNamed("alike", nil); err != nil || typ.Size != 1 {
		t.Errorf("one type by two names: %+v, %v", typ, err)
	}
	others, err := in.FunctionsNamed("other")
	if err != nil || len(others) != 1 {
		t.Fatal(others, err)
	}
	if c, err := in.TypeNamed("struct ctx", others[0]); err != nil || c.Fields[0].Name != "a" {
		t.Errorf("that of the function's unit: %+v, %v", c, err)
	}
}

// TestTemplateArguments: instances of a template are told apart where their names have no arguments.
func TestTemplateArguments(t *testing.T) {
	t.Parallel()
	for _, compiler := range []string{"clang++ -gsimple-template-names", "clang++", "g++"} {
		in := open(t, build(t, units(compiler, "tags.cpp")))
		for _, c := range []struct {
			param, name, field string
			size, width        int
		}{
			{"b", "shop::Box<long>", "v", 24, 8},
			{"c", "shop::Box<char>", "v", 8, 1},
			{"r", "shop::Row<short, 3>", "a", 6, 6},
			{"x", "ctx", "n", 16, 8},
		} {
			got := behind(t, in, c.param)
			f, ok := got.Field(c.field)
			if !ok || got.Size != c.size || f.Type.Size != c.width {
				t.Errorf("%s: %s: %+v", compiler, c.param, got)
			}
			if c.param == "x" || compiler == "g++" {
				continue // of two namespaces; GCC says "long int" and "(short)3"
			}
			if got.Name != c.name {
				t.Errorf("%s: %q, want %q", compiler, got.Name, c.name)
			}
			if named, err := in.TypeNamed(c.name, nil); err != nil || named.Size != c.size {
				t.Errorf("%s: %s: %+v, %v", compiler, c.name, named, err)
			}
		}
	}
}
