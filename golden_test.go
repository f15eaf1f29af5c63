package trocar

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestAnywhere compiles scripts for machines that are not this one: what comes out depends on nothing else.
func TestAnywhere(t *testing.T) {
	dir := t.TempDir()
	for _, cpu := range []string{"amd64", "arm64"} {
		build(t, filepath.Join(dir, "shop."+cpu), cpu)
	}
	golden, err := filepath.Abs("testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, c := range []struct{ name, script string }{
		{"count", `uprobe:./shop:main.serve { @ = count(); }`},
		{"arguments", `uprobe:./shop:main.serve /args.n > 2/ { printf("%d %s\n", args.o.table, args.dish); }`},
		{"stack", `uprobe:./shop:main.serve { @[ustack(3)] = sum(arg2); }`},
		{
			"timers",
			`begin { @begin = nsecs; } interval:s:1 { printf("%d of %d\n", cpu, ncpus); for ($i : 0..3) { @[$i]++; } }`,
		},
		{"names", `uprobe:./shop:main.serve { @[comm(arg0)] = count(); }`},
	} {
		for _, cpu := range []string{"amd64", "arm64"} {
			for _, release := range []string{"5.10", "7.0"} {
				name := strings.Join([]string{c.name, cpu, release}, "-")
				t.Run(name, func(t *testing.T) {
					script := strings.ReplaceAll(c.script, "./shop:", "./shop."+cpu+":")
					compare(t, filepath.Join(golden, name+".txt"), dump(t, script, cpu, release))
				})
			}
		}
	}
	for _, cpu := range []string{"amd64", "arm64"} {
		t.Run("question-"+cpu, func(t *testing.T) {
			script, err := Ask(t.Context(), Request{Question: &Question{
				Kind: QuestionTrace, Functions: []string{"main.serve"}, Path: "./shop." + cpu, Min: time.Millisecond,
			}})
			if err != nil {
				t.Fatal(err)
			}
			text := script.Text
			for _, n := range script.Notices {
				text += "// NOTICE " + n + "\n"
			}
			compare(t, filepath.Join(golden, "question-"+cpu+".txt"), text)
			want := []Function{{Name: "main.serve", Typed: true, Params: []Parameter{
				{"o", "*main.order"}, {"dish", "string"}, {"n", "int"},
			}}}
			if !reflect.DeepEqual(script.Functions, want) {
				t.Errorf("%+v", script.Functions)
			}
		})
	}
	t.Run("predefined", func(t *testing.T) {
		for cpu, want := range map[string]string{"amd64": "x86", "arm64": "arm"} {
			m, err := NewMachine(cpu, "7.0")
			if err != nil {
				t.Fatal(err)
			}
			script := "#ifdef __x86_64__\nstruct x86 { int a; };\n#endif\n#ifdef __aarch64__\nstruct arm { int a; };\n#endif\n"
			p, err := Compile(t.Context(), Request{Script: script + "begin { print(sizeof(struct " + want + ")); }"}, m)
			if err != nil {
				t.Errorf("%s: %v", cpu, err)
				continue
			}
			p.Close()
		}
	})
	t.Run("other CPU", func(t *testing.T) {
		m, err := NewMachine("arm64", "7.0")
		if err != nil {
			t.Fatal(err)
		}
		_, err = Compile(t.Context(), Request{Script: `uprobe:./shop.amd64:main.serve { @ = count(); }`}, m)
		if e := (*CompileError)(nil); !errors.As(err, &e) || !strings.Contains(e.Error(), "is for x86-64, not for arm64") {
			t.Errorf("%v", err)
		}
	})
}

// build makes the test program for a CPU.
func build(t *testing.T, path, cpu string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, ".")
	cmd.Dir = "testdata/shop"
	cmd.Env = append(os.Environ(), "GOARCH="+cpu, "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// dump is the script's code for a machine whose kernel shows how it keeps tasks by number.
func dump(t *testing.T, script, cpu, release string) string {
	t.Helper()
	m, err := NewMachine(cpu, release)
	if err != nil {
		t.Fatal(err)
	}
	m.KernelTypes = tasksKernel(t)
	p, err := Compile(t.Context(), Request{Script: script}, m)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var b bytes.Buffer
	fmt.Fprintf(&b, "// %s, Linux %s: %s\n", cpu, release, script)
	if err := p.Dump("bytecode", &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: the code is another one (go test . -update writes it anew); got\n%s", path, got)
	}
}
