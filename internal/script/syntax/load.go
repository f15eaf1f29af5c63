package syntax

import (
	"errors"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"trocar/internal/script/diag"
)

// Limits of imports.
const (
	maxImports     = 200
	maxImportBytes = 16 << 20
)

// Load parses a script with everything it imports. The definitions, macros and probes of an imported script come before
// those of the script that imports it. Paths are relative to the directory of the importing script; each file is taken
// once. Of the C headers only what the scripts can mean is kept.
func Load(src *diag.Source, opts ParseOptions, diags *diag.List) *File {
	l := &loader{opts: opts, diags: diags, root: src}
	if len(opts.Include.Files) > 0 {
		l.cUnit()
	}
	file := l.script(src)
	out := *file
	out.CDefs = nil
	out.MapDecls, out.Macros, out.Funcs, out.Probes = nil, nil, nil, nil
	for _, f := range l.files {
		out.MapDecls = append(out.MapDecls, f.MapDecls...)
		out.Macros = append(out.Macros, f.Macros...)
		out.Funcs = append(out.Funcs, f.Funcs...)
		out.Probes = append(out.Probes, f.Probes...)
	}
	if l.unit != nil {
		out.CDefs = l.prune(l.unit.finish())
	}
	return &out
}

// loader holds the state of one Load.
type loader struct {
	opts  ParseOptions
	diags *diag.List
	root  *diag.Source
	unit  *cUnit          // nil: no C so far
	files []*File         // in the order of their parts
	seen  map[string]bool // absolute paths; nil: no imports so far
	count int
	bytes int
	own   []*diag.Source // the scripts and imported headers, whose definitions are always kept
}

func (l *loader) cUnit() *cUnit {
	if l.unit == nil {
		l.unit = newCUnit(l.opts.Include, l.diags)
	}
	return l.unit
}

// script parses a script, loads its imports, and then adds it to the files.
func (l *loader) script(src *diag.Source) *File {
	file := &File{Source: src}
	if len(src.Text) > MaxScript {
		l.diags.Errorf(diag.Span{}, "%s: the script is larger than %d bytes", src.Name, MaxScript)
		return file
	}
	p := newParser(src, l.opts, l.diags)
	p.file = file
	p.program()
	l.own = append(l.own, src)
	for _, imp := range file.Imports {
		l.load(imp, src, true)
	}
	inBlock := func(n Node) bool {
		if imp, ok := n.(*Import); ok {
			l.load(imp, src, false)
		}
		return true
	}
	for _, m := range file.Macros {
		Inspect(m, inBlock)
	}
	for _, f := range file.Funcs {
		Inspect(f, inBlock)
	}
	for _, pr := range file.Probes {
		Inspect(pr, inBlock)
	}
	if len(p.cText) > 0 {
		l.cUnit().readC(src, p.cText)
	}
	l.files = append(l.files, file)
	return file
}

// load carries out an import statement.
func (l *loader) load(imp *Import, from *diag.Source, root bool) {
	path := imp.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(from.Name), path)
	}
	st, err := os.Stat(path)
	switch {
	case imp.Path == "":
		l.diags.Errorf(imp.Span, "Unable to find suitable path for import").Hint("the path is empty")
		return
	case errors.Is(err, os.ErrNotExist):
		if imp.Path == "stdlib" || strings.HasPrefix(imp.Path, "stdlib/") {
			return // the standard library is built in
		}
		l.diags.Errorf(imp.Span, "Unable to find suitable path for import").Hint("checked: %s", path)
		return
	case err != nil:
		l.diags.Errorf(imp.Span, "error reading import '%s': %s", path, cause(err))
		return
	}
	if !root && (st.IsDir() || filepath.Ext(path) != ".h") && !isBPF(path) {
		l.diags.Errorf(imp.Span, "Import statements that are not at the root are limited to specific header (.h) files")
		return
	}
	if open := openToAll(path, st); open != "" {
		l.diags.Errorf(imp.Span, "refusing to import from a place that everybody may write to: %s", open).
			Hint("take the right away, with chmod o-w %s, or move the file", open)
		return
	}
	if !st.IsDir() {
		l.file(imp, path, false)
		return
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		l.diags.Errorf(imp.Span, "error reading import '%s': %s", path, cause(err))
		return
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	for _, e := range entries {
		if name := filepath.Join(path, e.Name()); !e.IsDir() {
			if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
				if open := openToAll(name, st); open != "" {
					l.diags.Errorf(imp.Span, "refusing to import a file that everybody may write to: %s", open)
					continue
				}
				l.file(imp, name, true)
			}
		}
	}
}

// isBPF tells BPF programs, in C or compiled.
func isBPF(path string) bool {
	return strings.HasSuffix(path, ".bpf.c") || strings.HasSuffix(path, ".bpf.o")
}

// openToAll gives the file or its directory if everybody may write to it: what it says could be anybody's.
func openToAll(path string, st os.FileInfo) string {
	if st.Mode().Perm()&0o002 != 0 {
		return path
	}
	dir := filepath.Dir(path)
	if st, err := os.Stat(dir); err == nil && st.Mode().Perm()&0o002 != 0 {
		return dir
	}
	return ""
}

// file imports one file. anyKind is set for those of a directory, where others may stand beside.
func (l *loader) file(imp *Import, path string, anyKind bool) {
	script, header := filepath.Ext(path) == ".bt", filepath.Ext(path) == ".h"
	switch {
	case isBPF(path):
		l.diags.Errorf(imp.Span, "cannot import %s: BPF programs written in C need a C compiler for BPF, which this "+
			"tracer does "+
			"without", filepath.Base(path)).Hint("write what it does as a macro in a .bt file")
		return
	case !script && !header:
		if !anyKind {
			l.diags.Errorf(imp.Span, "unknown import type: %q", filepath.Base(path)).
				Hint("a .bt script, a .h header or a directory of them can be imported")
		}
		return
	}
	if l.seen == nil {
		l.seen = map[string]bool{absolute(l.root.Name): true}
	}
	key := absolute(path)
	if l.seen[key] {
		return
	}
	l.seen[key] = true
	if l.count++; l.count > maxImports {
		if l.count == maxImports+1 {
			l.diags.Errorf(imp.Span, "too many imports (more than %d files)", maxImports)
		}
		return
	}
	if header {
		src, err := l.cUnit().pp.headers.read(path)
		if src == nil && err == nil {
			err = errNotRegular
		}
		if err != nil {
			l.diags.Errorf(imp.Span, "error reading import '%s': %s", path, cause(err))
			return
		}
		l.own = append(l.own, src)
		l.cUnit().read(&creader{src: src, dir: filepath.Dir(path)})
		return
	}
	text, err := readText(path, MaxScript)
	if err == nil {
		if l.bytes += len(text); l.bytes > maxImportBytes {
			err = errors.New("the imports have too many bytes in all")
		}
	}
	if err != nil {
		l.diags.Errorf(imp.Span, "error reading import '%s': %s", path, cause(err))
		return
	}
	src := &diag.Source{Name: path, Text: text}
	f := l.script(src)
	if len(f.Config) > 0 {
		l.diags.Errorf(f.Config[0].Span, "invalid `config` within import").
			Hint("only the script that is run may have a config block")
	}
}

// absolute is one spelling of a path.
func absolute(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		path = p
	}
	if p, err := filepath.Abs(path); err == nil {
		path = p
	}
	return path
}

// cause is an error without the path, which was said already.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
