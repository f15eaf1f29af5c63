package dotnet

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAwaited(t *testing.T) {
	var a Awaited
	for _, c := range []struct {
		file, program string
		ok            bool
	}{
		{file: "/app/libhostfxr.so"},
		{file: "/app/early.dll"},
		{file: "/net/System.Private.CoreLib.dll"},
		{file: "/net/System.Private.CoreLib.dll"},
		{file: "/net/libclrjit.so"},
		{file: "/app/app.dll"},
		{file: "/app/app.dll", program: "/app/app.dll"},
		{file: "/net/System.Runtime.dll", program: "/app/app.dll", ok: true},
	} {
		if program, ok := a.Begins(c.file); program != c.program || ok != c.ok {
			t.Errorf("%s: %q, %v", c.file, program, ok)
		}
	}
}

func TestStarts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"app.runtimeconfig.json": "{}", "app": "\x7fELF", "c": "ELF",
		"run": "#!/bin/sh\nexec \"$(dirname $0)/app\" $@", "native": "#!/bin/sh\nexec ./c",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		words []string
		want  bool
	}{
		{[]string{at("app"), "x"}, true},
		{[]string{"dotnet", at("app.dll")}, true},
		{[]string{"dotnet", "exec", at("app.dll")}, true},
		{[]string{"/bin/sh", "-c", "exec " + at("app")}, true},
		{[]string{at("run")}, true},
		{[]string{at("native")}, false},
		{[]string{at("c")}, false},
		{[]string{at("none")}, false},
		{[]string{"dotnet", at("c.dll")}, false},
	} {
		if got := Starts(c.words[0], c.words); got != c.want {
			t.Errorf("%q: %v", c.words, got)
		}
	}
}
