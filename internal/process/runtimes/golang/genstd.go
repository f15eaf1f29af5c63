//go:build ignore

// Command genstd writes signatures.z: what functions and methods of Go's standard library take and return, of those
// packages of which people trace functions. It reads the API files of the Go that runs it ($GOROOT/api), which the
// promise of compatibility keeps as they are. A line is "name in,in>out,out"; a type that a package declares has its
// underlying one behind a colon, if that is no struct.
package main

import (
	"bytes"
	"cmp"
	"compress/flate"
	"fmt"
	"go/ast"
	"go/parser"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// wanted are the packages.
var wanted = strings.Fields(`bytes context crypto/tls database/sql encoding/base64 encoding/hex encoding/json fmt
	io io/fs log log/slog net net/http net/smtp net/url os os/exec path path/filepath regexp strconv strings text/template
	time`)

var line = regexp.MustCompile(`^pkg ([\w/]+)(?: \(([^)]*)\))?, (func|method|type) (.*)$`)

type declared struct{ pkg, text string }

func main() {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		log.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "api", "go1*.txt"))
	if err != nil || len(files) == 0 {
		log.Fatal("no API files: ", err)
	}
	kinds, paths, funcs := map[string]declared{}, map[string]string{}, map[string]declared{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			log.Fatal(err)
		}
		for l := range strings.Lines(string(text)) {
			l, _, _ = strings.Cut(l, " #")
			m := line.FindStringSubmatch(strings.TrimSpace(l))
			if m == nil || m[2] != "" && m[2] != "linux-amd64" {
				continue
			}
			short := m[1][strings.LastIndexByte(m[1], '/')+1:]
			if old, ok := paths[short]; !ok || !slices.Contains(wanted, old) {
				paths[short] = m[1]
			}
			name, rest, _ := strings.Cut(m[4], " ")
			switch {
			case m[3] == "type":
				if !strings.HasPrefix(rest, "struct, ") && !strings.HasPrefix(rest, "interface, ") { // members, one by one
					kinds[m[1]+"."+name] = declared{m[1], rest}
				}
			case !slices.Contains(wanted, m[1]):
			case m[3] == "func":
				name, rest, _ = strings.Cut(m[4], "(")
				funcs[m[1]+"."+name] = declared{m[1], "(" + rest}
			default:
				method, sig, _ := strings.Cut(rest, "(")
				recv := strings.Trim(name, "()")
				if strings.HasPrefix(recv, "*") {
					name = m[1] + ".(" + recv + ")." + method
				} else {
					name = m[1] + "." + recv + "." + method
				}
				join := ", "
				if strings.HasPrefix(sig, ")") {
					join = ""
				}
				funcs[name] = declared{m[1], "(" + recv + join + sig}
			}
		}
	}
	w := writer{kinds: kinds, paths: paths}
	var out bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(funcs)) {
		f := funcs[name]
		if text, ok := w.signature(f); ok && !strings.Contains(name, "[") {
			fmt.Fprintf(&out, "%s %s\n", name, text)
		}
	}
	var packed bytes.Buffer
	z, _ := flate.NewWriter(&packed, flate.BestCompression)
	z.Write(out.Bytes())
	z.Close()
	if err := os.WriteFile("signatures.z", packed.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}

type writer struct {
	kinds map[string]declared
	paths map[string]string // of packages, by their last element
}

func (w *writer) signature(f declared) (string, bool) {
	e, err := parser.ParseExpr("func" + f.text)
	if err != nil {
		return "", false
	}
	ft := e.(*ast.FuncType)
	ok := true
	list := func(fields *ast.FieldList) string {
		var out []string
		for i := range fields.NumFields() {
			t := w.typ(f.pkg, fields.List[i].Type, 0)
			ok = ok && t != ""
			out = append(out, t)
		}
		return strings.Join(out, ",")
	}
	in, out := list(ft.Params), ""
	if ft.Results != nil {
		out = ">" + list(ft.Results)
	}
	return in + out, ok
}

// typ is a type as the table has it, "" if it has none for it.
func (w *writer) typ(pkg string, e ast.Expr, depth int) string {
	switch e := e.(type) {
	case *ast.Ident:
		if strings.HasPrefix(e.Name, "complex") {
			return ""
		}
		if e.Name != strings.ToLower(e.Name) {
			return w.named(pkg+"."+e.Name, depth)
		}
		return cmp.Or(map[string]string{"byte": "uint8", "rune": "int32"}[e.Name], e.Name)
	case *ast.SelectorExpr:
		return w.named(w.paths[e.X.(*ast.Ident).Name]+"."+e.Sel.Name, depth)
	case *ast.StarExpr:
		t, _, _ := strings.Cut(w.typ(pkg, e.X, depth), ":")
		return "*" + t
	case *ast.ArrayType:
		if e.Len == nil {
			return "[]" + w.typ(pkg, e.Elt, depth)
		}
	case *ast.Ellipsis:
		return "[]" + w.typ(pkg, e.Elt, depth)
	case *ast.InterfaceType:
		if e.Methods.NumFields() == 0 {
			return "any"
		}
		return "interface"
	case *ast.FuncType, *ast.MapType, *ast.ChanType:
		return "word"
	}
	return ""
}

func (w *writer) named(full string, depth int) string {
	k, ok := w.kinds[full]
	if !ok || depth > 4 {
		return ""
	}
	text := strings.TrimPrefix(k.text, "= ")
	word, _, _ := strings.Cut(text, " ")
	switch {
	case word == "struct":
		return full
	case word == "interface":
		return full + ":interface"
	case strings.HasPrefix(text, "func"), strings.HasPrefix(text, "map["), word == "chan", word == "<-chan":
		return full + ":word"
	}
	e, err := parser.ParseExpr(text)
	if err != nil {
		return ""
	}
	under := w.typ(k.pkg, e, depth+1)
	if strings.HasPrefix(k.text, "= ") {
		return under
	}
	if _, under2, ok := strings.Cut(under, ":"); ok {
		under = under2
	}
	if under == "" || strings.HasPrefix(under, "*") {
		return full
	}
	return full + ":" + under
}
