package match

import (
	"fmt"
	"strings"

	"trocar/internal/binary/image"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/packages"
	"trocar/internal/near"
	"trocar/internal/script/diag"
)

// noFunction reports that no function fits, with what may have been meant.
func (m *matcher) noFunction(s *spec, files []*binary, err error) {
	if s.skip {
		return
	}
	name := s.target
	if len(files) == 1 || len(files) > 0 && name == "" {
		name = files[0].name
	}
	text := fmt.Sprintf("No matches for %s %s:%s", s.kind.name, name, s.fn)
	if m.opts.Plain {
		text = fmt.Sprintf("no function %s in %s", s.fn, name)
	}
	d := m.missing(s, "%s", text)
	if d == nil {
		return
	}
	if err != nil {
		d.Note(diag.Span{}, "%s", err)
	}
	if objfile.NamesMethod(s.fn) && len(files) > 0 {
		packed := 0
		bundle := files[0].obj.Bundle()
		for i := range bundle {
			if bundle[i].Assembly && bundle[i].Packed {
				packed++
			}
		}
		if packed > 0 {
			d.Note(diag.Span{}, "%d of the assemblies in the program are compressed, and are not looked at", packed)
			d.Hint("publish it without EnableCompressionInSingleFile")
		}
		if (m.pid() == 0 || m.opts.ChildPID != 0) && len(bundle) > 0 {
			d.Note(diag.Span{}, "it is a single file of .NET, whose methods are found once it runs")
			d.Hint("start it, and trace it with -p PID")
			return
		}
	}
	if s.target == "" && objfile.NamesMethod(s.fn) && m.files.runsDotNet() {
		d.Note(diag.Span{}, "the process runs .NET, and none of the %d assemblies that it has loaded has such a method",
			len(m.files.assemblies()))
		d.Hint("of an assembly in another folder: -x FILE.dll")
		if m.opts.Loading.Module != "" { // it is not left running
			d.Hint("names are in full: 'trocar list \"uprobe:FILE.dll:*::%s\"' lists methods that were compiled ahead of time, "+
				"and 'trocar list -p PID \"*::%[1]s\"' all", nameBehind(s.fn))
			return
		}
		d.Hint("names are in full: 'trocar list -p %d \"*::%s\"' lists methods", m.opts.PID, nameBehind(s.fn))
		d.Hint("'trocar perf-map -p %d' lists the methods that are compiled, and how", m.opts.PID)
		return
	}
	if len(files) == 1 {
		m.explain(d, s, files[0])
	}
}

// nameBehind is the name of a method without its type.
func nameBehind(s string) string {
	s, _, _ = strings.Cut(s, "(")
	return s[strings.LastIndexByte(s, ':')+1:]
}

// explain says why a file may have no function of a name or pattern, and what to do about it.
func (m *matcher) explain(d *diag.Diagnostic, s *spec, b *binary) {
	if m.imported(d, s, b) {
		return
	}
	if im := b.obj.Managed(); im != nil {
		if ok, why := im.Compiled(); !ok && m.pid() == 0 {
			d.Note(diag.Span{}, "%s: %s", b.name, why)
			d.Hint("what is compiled while a program runs is traced in a process (-p PID) or a command (-c 'dotnet APP.dll')")
		}
		return
	}
	any := false
	b.obj.Functions(func(*objfile.Symbol) bool { any = true; return false })
	if !any {
		d.Note(diag.Span{}, "%s has no symbols: it is stripped, and %s", b.name, noDebug(b))
		debugHint(d, b)
		if !m.opts.Plain {
			d.Hint("give an address instead of a name: %s:%s:0x1234", s.kind.name, b.name)
		}
		return
	}
	if b.obj.Stripped() {
		d.Note(diag.Span{}, "%s is stripped: only the functions that it exports have names, and %s", b.name, noDebug(b))
		debugHint(d, b)
	}
	// Of a pattern, what is not a wildcard is a name that is known in part.
	if name := strings.Trim(s.fn, "*"); name != "" && !hasWildcard(name) {
		if b.nearOf != name { // else the same is asked for the other probe of calls, where they return
			b.nearOf, b.near = name, b.obj.Near(name, 3)
		}
		if len(b.near) > 0 {
			d.Hint("did you mean %s?", near.List(b.near))
		}
	}
}

// noDebug says why there is no debug file.
func noDebug(b *binary) string {
	if err := b.obj.DebugError(); err != nil {
		return err.Error()
	}
	if id := b.obj.BuildID(); id != "" {
		return fmt.Sprintf("no debug file of its build id %s is installed", id)
	}
	return "it has no build id, by which a debug file would be found"
}

// imported says that a function is another file's, if it is.
func (m *matcher) imported(d *diag.Diagnostic, s *spec, b *binary) bool {
	lib := m.files.defining(b, s.fn, s.pattern())
	if lib != nil {
		is := "is defined in a library that it loads:"
		switch {
		case s.pattern():
			is = "fits functions that are imported here and defined in"
		case b.obj.Imports(s.fn):
			is = "is imported here and defined in"
		}
		d.Note(diag.Span{}, "%s %s %s", s.fn, is, lib.name)
		if m.opts.Plain {
			d.Hint("name the library: %s:%s", lib.name, s.fn)
		} else {
			d.Hint("probe %s:%s:%s", s.kind.name, lib.name, s.fn)
		}
		return true
	}
	if !s.pattern() && b.obj.Imports(s.fn) {
		d.Note(diag.Span{}, "%s is imported here, and defined in one of the libraries it loads: %s", s.fn,
			strings.Join(b.obj.Needed(), ", "))
		return true
	}
	return false
}

// debugWay is which package a file's debug information is in, which takes the lists of all packages to find.
type debugWay string

// debugHint says how to get the names of a stripped file.
func debugHint(d *diag.Diagnostic, b *binary) {
	var ways []string
	way, _ := image.Tell(b.im, func(f *objfile.File) debugWay { return debugWay(packages.Debug(f.Path())) })
	if way != "" {
		ways = append(ways, string(way))
	}
	if b.obj.BuildID() != "" && b.obj.Fetch() == nil { // else a server cannot be asked, or was
		ways = append(ways, "set DEBUGINFOD_URLS to a server that has its debug file")
	}
	if len(ways) > 0 {
		d.Hint("%s", strings.Join(ways, ", or "))
	}
}
