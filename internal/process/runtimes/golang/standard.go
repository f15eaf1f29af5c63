package golang

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"io"
	"strings"
	"sync"

	"trocar/internal/binary/types"
	"trocar/internal/process/runtimes/golang/pclntab"
)

//go:generate go run genstd.go

// packed are the signatures of exported functions of the standard library (see genstd.go), which are the same in all
// versions that have them.
//
//go:embed signatures.z
var packed []byte

// maxSignatures bounds the text of all.
const maxSignatures = 1 << 20

// signatures are the lines, each behind a newline.
var signatures = sync.OnceValue(func() []byte {
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxSignatures))
	if err != nil {
		return nil
	}
	return append([]byte("\n"), text...)
})

// standard takes a signature from what the standard library promises: the package's path, which no other has, and the
// name tell the function.
func (p *Program) standard(fn *Function, g *pclntab.Func) (in, out []*types.Type, ok bool) {
	if root, _, ok := strings.Cut(fn.Name, "/"); ok && strings.Contains(root, ".") {
		return nil, nil, false // of a module, like most functions
	}
	_, line, found := bytes.Cut(signatures(), []byte("\n"+fn.Name+" "))
	if !found {
		return nil, nil, false
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	params, results, _ := strings.Cut(string(line), ">")
	list := func(text string) (list []*types.Type) {
		for text != "" {
			var word string
			word, text, _ = strings.Cut(text, ",")
			list = append(list, p.written(word, 0))
		}
		return list
	}
	in, out = list(params), list(results)
	return in, out, g.ArgInfo != nil || len(in) == 0
}

// written is a type as a signature has it; nil: it is not known.
func (p *Program) written(text string, depth int) *types.Type {
	name, under, declared := strings.Cut(text, ":")
	source := &types.Source{Lang: types.Go}
	word := types.PointerTo(types.TVoid, types.User)
	record := func(form types.Form, fields ...any) *types.Type {
		t := record(name, fields...)
		t.Source.Form = form
		return t
	}
	switch {
	case depth > 8:
		return nil
	case strings.HasPrefix(name, "*"):
		if t := p.typeNamed(name, 0); t != nil {
			return t
		}
		word.Name, word.Source = name, source
		return word
	case strings.HasPrefix(text, "[]"): // what is declared is its element
		elem := p.written(text[2:], depth+1)
		if elem == nil {
			elem = broken()
		}
		t := record(types.SliceForm, "array", types.PointerTo(elem, types.User), "len", goInt("int", 8, true), "cap",
			goInt("int", 8, true))
		t.Name, t.Source.Item = "[]"+elem.Name, elem
		return t
	case declared:
		if t := p.typeNamed(name, 0); t != nil {
			return t
		}
		t := p.written(under, depth+1)
		if t != nil {
			t.Name = name
		}
		return t
	}
	switch name {
	case "string":
		return record(types.StringForm, "str", types.PointerTo(goInt("uint8", 1, false), types.User), "len",
			goInt("int", 8, true))
	case "any":
		name = "interface {}"
		return record(types.AnyForm, "_type", word, "data", word)
	case "error", "interface":
		return record(types.InterfaceForm, "tab", word, "data", word)
	case "word":
		word.Name, word.Source, source.Form = name, source, types.UnsafeForm
		return word
	case "bool":
		return &types.Type{Kind: types.Bool, Name: name, Size: 1, Align: 1, Source: source}
	case "float64":
		return &types.Type{Kind: types.Float, Name: name, Size: 8, Align: 8, Source: source}
	}
	for i, sized := range []string{"int8", "int16", "int32", "int64"} {
		unsigned := strings.TrimPrefix(name, "u")
		if unsigned == sized {
			return goInt(name, 1<<i, unsigned == name)
		}
	}
	if name == "int" || name == "uint" || name == "uintptr" {
		return goInt(name, 8, name == "int")
	}
	return p.typeNamed(name, 0)
}
