package golang

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"trocar/internal/binary/types"
	"trocar/internal/process/runtimes/golang/pclntab"
)

// TestStandard: each signature of the standard library that is kept means something, whatever a program describes.
func TestStandard(t *testing.T) {
	p := &Program{}
	lines := 0
	for s := bufio.NewScanner(bytes.NewReader(signatures()[1:])); s.Scan(); lines++ {
		name, sig, ok := strings.Cut(s.Text(), " ")
		if !ok || name == "" {
			t.Fatalf("line %d: %q", lines+1, s.Text())
		}
		for _, word := range strings.FieldsFunc(sig, func(r rune) bool { return r == ',' || r == '>' }) {
			// Structures alone are the program's own.
			got := p.written(word, 0)
			if _, _, declared := strings.Cut(word, ":"); got == nil && (declared || !strings.Contains(word, ".")) {
				t.Errorf("%s: %s is not understood", name, word)
			}
		}
	}
	if lines < 1000 {
		t.Errorf("%d signatures", lines)
	}
}

// TestStandardNames: the standard library's functions are found by their names, and others have no signature.
func TestStandardNames(t *testing.T) {
	p := &Program{}
	for name, want := range map[string]bool{
		"bytes.(*Buffer).Available": true, "net/http.(*Client).Get": true, "strings.Index": true, "main.Index": false,
		"example.com/net/http.(*Client).Get": false, "": false,
	} {
		if _, _, ok := p.standard(&Function{Name: name}, &pclntab.Func{ArgInfo: []byte{0xff}}); ok != want {
			t.Errorf("%q: %t", name, ok)
		}
	}
}

// TestWritten: types as they are written in signatures.
func TestWritten(t *testing.T) {
	p := &Program{}
	for _, c := range []struct {
		text, name string
		kind       types.Kind
		form       types.Form
		size       int
	}{
		{"string", "string", types.Struct, types.StringForm, 16},
		{"[]uint8", "[]uint8", types.Struct, types.SliceForm, 24},
		{"[]net.IP:[]uint8", "[]net.IP", types.Struct, types.SliceForm, 24},
		{"error", "error", types.Struct, types.InterfaceForm, 16},
		{"any", "interface {}", types.Struct, types.AnyForm, 16},
		{"context.Context:interface", "context.Context", types.Struct, types.InterfaceForm, 16},
		{"*net/http.Request", "*net/http.Request", types.Pointer, types.NoForm, 8},
		{"os.FileMode:uint32", "os.FileMode", types.Int, types.NoForm, 4},
		{"net/url.Values:word", "net/url.Values", types.Pointer, types.UnsafeForm, 8},
		{"int8", "int8", types.Int, types.NoForm, 1},
		{"uintptr", "uintptr", types.Int, types.NoForm, 8},
		{"bool", "bool", types.Bool, types.NoForm, 1},
		{"float64", "float64", types.Float, types.NoForm, 8},
	} {
		got := p.written(c.text, 0)
		if got == nil || got.Name != c.name || got.Kind != c.kind || got.Size != c.size || got.Source.Form != c.form {
			t.Errorf("%s: %+v", c.text, got)
		}
	}
	if got := p.written("time.Time", 0); got != nil {
		t.Errorf("a structure that no program describes is %+v", got)
	}
}
