package trocar

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestRequestTravels: a request with all its fields set comes back from JSON as it was.
func TestRequestTravels(t *testing.T) {
	var r Request
	fill(reflect.ValueOf(&r).Elem())
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Request
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r, back) {
		t.Errorf("%s\n%+v\nis not\n%+v", text, back, r)
	}
	text, err = json.Marshal(Request{Script: "begin { exit(); }"})
	if err != nil || string(text) != `{"script":"begin { exit(); }"}` {
		t.Errorf("%s, %v", text, err)
	}
}

// fill sets everything to something else than its zero value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("text of " + v.Type().String())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(7)
	default:
		panic("a request has no " + v.Kind().String())
	}
}

func TestRequestRefused(t *testing.T) {
	var r Request
	for _, text := range []string{
		`{"scirpt": "x"}`, `{"target": {"pids": [1]}}`,
		`{"question": {"kind": "trace", "arg": "x"}}`, `[]`,
	} {
		if err := json.Unmarshal([]byte(text), &r); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
	m, err := NewMachine("arm64", "6.12")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		r    Request
		want string
	}{
		{Request{Script: "x", Question: &Question{}}, "a script and a question"},
		{Request{Script: "x", Target: Target{PID: 1, Command: []string{"x"}}}, "a process and a command"},
		{Request{Script: "x", Target: Target{PID: 1, Container: "x"}}, "a container and a process or command"},
		{Request{Script: "x", Target: Target{Command: []string{"x"}}}, "has not been started"},
		{Request{Script: "x", Filter: "("}, "missing closing )"},
		{Request{Script: "x", Mode: "tset"}, `unknown mode "tset"`},
		{Request{Question: &Question{Kind: "trace"}}, "names no program"},
	} {
		_, err := Compile(t.Context(), c.r, m)
		if !errors.Is(err, ErrRequest) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.r, err)
		}
	}
	if _, err := Compile(t.Context(), Request{Script: "begin {}", Target: Target{PID: 1}}, m); !errors.Is(err,
		ErrMachine) {
		t.Errorf("a process of another machine: %v", err)
	}
	_, err = Compile(t.Context(), Request{Question: &Question{Kind: "nothing", Functions: []string{"x.c:1"}, Path: "x"}},
		m)
	if e := (*CompileError)(nil); !errors.As(err, &e) ||
		!strings.Contains(e.Error(), `unknown kind of question "nothing"`) {
		t.Errorf("%v", err)
	}
	if _, err := Compile(t.Context(), Request{Script: "begin {}", Disable: []string{"nonesuch"}}, m); err == nil {
		t.Error("an unknown feature is not refused")
	}
}

// TestDone: with a context that is done nothing is begun.
func TestDone(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	m, err := NewMachine("amd64", "6.12")
	if err != nil {
		t.Fatal(err)
	}
	_, inspected := Inspect(ctx)
	_, compiled := Compile(ctx, Request{Script: "begin {}"}, m)
	_, asked := Ask(ctx, Request{Question: &Question{Kind: "count", Functions: []string{"x.c:1"}, Path: "x"}})
	_, listed := List(ctx, ListRequest{}, m, func(Listed) {})
	_, opened := OpenBinary(ctx, "/proc/self/exe", Files{})
	_, started := Start(ctx, CommandLine{Words: []string{"true"}})
	for i, err := range []error{inspected, compiled, asked, listed, opened, started} {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// TestInterrupted: a list ends where the context does.
func TestInterrupted(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMachine("amd64", "6.12")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, err = List(ctx, ListRequest{Pattern: "uprobe:" + exe + ":*"}, m, func(Listed) {
		n++
		cancel()
	})
	if n != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d points, %v", n, err)
	}
}

func TestMachines(t *testing.T) {
	for _, c := range []struct{ cpu, release, want string }{
		{"riscv64", "6.12", "is not known, only amd64 and arm64"},
		{"amd64", "6", "does not begin with a kernel version"},
		{"amd64", "", "does not begin with a kernel version"},
		{"arm64", "5.9.16", "older than 5.10"},
		{"arm64", "5.10", ""},
		{"amd64", "6.12.0-1-amd64", ""},
		{"amd64", "7.0-rc1", ""},
	} {
		_, err := NewMachine(c.cpu, c.release)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.cpu, c.release, err)
		}
	}
	m, err := NewMachine("amd64", "5.10")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Report(t.Context()); !errors.Is(err, ErrMachine) {
		t.Errorf("a report of another machine: %v", err)
	}
	p, err := Compile(t.Context(), Request{Script: "begin { exit(); }"}, m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(t.Context(), nil, nil, Hooks{}); !errors.Is(err, ErrMachine) {
		t.Errorf("a program for another machine runs: %v", err)
	}
}

// TestAwaits: a command is only let go on for methods that a program of .NET makes while it runs.
func TestAwaits(t *testing.T) {
	dir := t.TempDir()
	app, native := filepath.Join(dir, "app"), filepath.Join(dir, "native")
	for name, text := range map[string]string{app + ".runtimeconfig.json": "{}", native: "#!/bin/sh\nexec ./cpp"} {
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		command, path, function, script string
		want                            string
	}{
		{command: app, function: "Ns.Foo::bar", want: "Ns.Foo::bar"},
		{command: app, function: "lib.dll:Foo::bar", want: "Foo::bar"},
		{command: app, path: "lib.dll", function: "Foo::bar", want: "Foo::bar"},
		{command: app, path: "./cpp", function: "Foo::bar"},
		{command: app, function: "libx:Foo::bar"},
		{command: app, function: "libx:foo"},
		{command: native, function: "Foo::bar"},
		{command: native, function: "python:app.f", want: "python:app.f"},
		{command: app, script: `uprobe:"Foo::bar" {}`, want: "uprobe:Foo::bar"},
		{command: app, script: `uprobe:./cpp:"Foo::bar" {}`},
		{command: native, script: `uprobe:"Foo::bar" {}`},
	} {
		r := Request{Script: c.script, Target: Target{Command: []string{c.command}}}
		if c.function != "" {
			r.Question = &Question{Path: c.path, Functions: []string{c.function}}
		}
		if got := strings.Join(r.Awaits(), " "); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
