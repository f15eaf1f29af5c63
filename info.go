package trocar

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"trocar/internal/binary/debuginfo"
	"trocar/internal/binary/image"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/packages"
	"trocar/internal/binary/types"
	"trocar/internal/process/match"
	"trocar/internal/process/target"
)

// A Binary is a program or library that is looked at.
type Binary struct {
	Path string
	PID  int // of the process it was found by, 0: none

	im     *image.Image
	images images // which im was opened with
	obj    *objfile.File
	info   *debuginfo.Info
	err    error // why there is no info
}

// OpenBinary opens the program of a process (a number), a file, or a program or library by its name. Ctx ends waiting
// for servers of debug files. Errors: see IsMissing.
func OpenBinary(ctx context.Context, name string, files Files) (*Binary, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b := &Binary{Path: name}
	if pid, err := strconv.ParseUint(name, 10, 31); err == nil {
		if _, err := os.Stat(name); err != nil {
			b.PID = int(pid)
			if b.Path, err = programOf(target.PID(pid)); err != nil {
				return nil, fmt.Errorf("process %d: %w", pid, err)
			}
		}
	} else if !strings.Contains(name, "/") {
		b.Path = byNameAnywhere(name, files.SearchPath)
	}
	images := files.images(ctx)
	im, err := images.Open(b.Path)
	if err != nil {
		images.done()
		return nil, err
	}
	im.FetchDebug()
	b.im, b.images, b.obj = im, images, im.File()
	b.info, b.err = im.Info()
	return b, nil
}

// programOf is the path by which we open the program of a process.
func programOf(pid target.PID) (string, error) {
	path, deleted, err := pid.Program()
	if err != nil {
		if !pid.Exists() {
			return "", target.ErrGone
		}
		return "", err
	}
	root, err := pid.Root()
	if err != nil || deleted {
		return fmt.Sprintf("/proc/%d/exe", pid), nil
	}
	if root.Own() {
		return path, nil
	}
	return filepath.Join(root.String(), path), nil
}

// byNameAnywhere finds a file here, a program in PATH, or a library.
func byNameAnywhere(name, searchPath string) string {
	if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
		return name
	}
	var root target.Root
	if found := root.LookPath(name, searchPath); len(found) > 0 {
		return found[0]
	}
	if found, err := root.FindLibrary(name); err == nil && len(found) > 0 {
		return found[0]
	}
	return name
}

// Close closes the files.
func (b *Binary) Close() error {
	defer b.images.done()
	return b.im.Close()
}

// Summary tells what a binary is.
type Summary struct {
	Path      string
	Kind      string // "program", "position-independent program", "library" …
	ABI       string
	BuildID   string // "": none
	Libraries []string

	Languages []Compiler
	DebugInfo string // path of the file that has it; "": none, for the reason NoDebug
	NoDebug   string
	Damage    string // what of it could not be read

	Functions int // that have a name and code of their own

	Runtimes []Runtime // that are at work in the process, if the target is one
}

// Runtime is what is to be said of a language's runtime in a process.
type Runtime struct {
	Name, Version string // the version is "" if it is not known
	// Has is what can be had of it as it was started, Lacks what cannot, with the way out.
	Has, Lacks []string
}

// Compiler is what wrote a part of a program.
type Compiler struct {
	Language, Producer string
	DWARF              int // version
}

// Summary looks at all of a binary's functions and units, but at nothing in them.
func (b *Binary) Summary() (*Summary, error) {
	s := &Summary{Path: b.Path, BuildID: b.obj.BuildID(), Libraries: b.obj.Needed(), Kind: b.kind()}
	s.Runtimes = runtimesIn(b.PID)
	s.ABI = b.obj.CPU()
	if !b.obj.Is64() {
		s.ABI += ", 32 bits"
	}
	runtime, managed := match.RuntimeOf(b.obj)
	switch {
	case managed:
		s.ABI += ", " + runtime.Name
	case b.obj.Arch() != nil:
		s.ABI += ", " + b.obj.Arch().C.Name
	}
	seen := map[uint64]bool{}
	if err := b.obj.Functions(func(sym *objfile.Symbol) bool {
		seen[sym.Addr] = true
		return true
	}); err != nil {
		return nil, err
	}
	s.Functions = len(seen)
	if b.info == nil {
		s.NoDebug = b.err.Error()
		if errors.Is(b.err, debuginfo.ErrNone) {
			s.NoDebug = "compile with -g, or " + packages.DebugOr(b.obj.Path())
			if s.BuildID != "" {
				s.NoDebug += " (they are found by the build id)"
			}
			if why := b.obj.DebugError(); why != nil {
				s.NoDebug += ": " + why.Error()
			}
		}
		if managed {
			s.NoDebug = runtime.NoDebug
			s.Languages = append(s.Languages, Compiler{Language: runtime.Name})
		}
		return s, nil
	}
	s.DebugInfo = b.info.Path()
	langs, err := b.info.Languages()
	if err != nil {
		return nil, err
	}
	for _, l := range langs {
		s.Languages = append(s.Languages, Compiler{Language: l.Language.String(), Producer: l.Producer, DWARF: l.DWARF})
	}
	if err := b.info.Damage(); err != nil {
		s.Damage = err.Error()
	}
	return s, nil
}

func runtimesIn(pid int) (list []Runtime) {
	if pid == 0 {
		return nil
	}
	for _, r := range match.Runtimes() {
		if r.Inside == nil {
			continue
		}
		if p := r.Inside(pid); p != nil {
			about := p.About()
			list = append(list, Runtime{Name: r.Name, Version: about.Version, Has: about.Has, Lacks: about.Lacks})
		}
	}
	return list
}

func (b *Binary) kind() string {
	_, interp := b.obj.Section(".interp")
	named := strings.Contains(filepath.Base(b.Path), ".so") // like a library
	switch {
	case b.obj.Type() == objfile.TypeExec && !interp:
		return "static program at fixed addresses"
	case b.obj.Type() == objfile.TypeExec:
		return "program at fixed addresses"
	case b.obj.Type() == objfile.TypeDyn && interp && b.obj.Entry() != 0 && len(b.obj.Needed()) > 0 && !named:
		return "position-independent program"
	case b.obj.Type() == objfile.TypeDyn && named:
		return "library"
	case b.obj.Type() == objfile.TypeDyn:
		return "position-independent program or library"
	case b.obj.Type() == objfile.TypeCore:
		return "core dump"
	}
	return "object file"
}

// ErrNoDebugInfo is returned (wrapped) where debug information is needed and there is none.
var ErrNoDebugInfo = errors.New("no debug information")

func (b *Binary) needInfo() error {
	if b.info != nil {
		return nil
	}
	if errors.Is(b.err, debuginfo.ErrNone) {
		return fmt.Errorf("%s: %w: compile it with -g, or %s (build id %s)",
			b.Path, ErrNoDebugInfo, packages.DebugOr(b.obj.Path()), b.obj.BuildID())
	}
	return fmt.Errorf("%s: %w: %w", b.Path, ErrNoDebugInfo, b.err)
}

// ErrNotFound is returned (wrapped) for a type, function or line that is not there.
var ErrNotFound = errors.New("not found")

// Layout is a type's definition with the places of its members.
type Layout struct {
	Language string
	Size     int // bytes
	Lines    []LayoutLine
}

// LayoutLine is one line of a type's definition.
type LayoutLine struct {
	Text   string // as the language writes it, indented
	Offset int    // in the whole type, in bytes; -1: the line is no member
	Bit    int    // of a bit-field: its lowest bit, from the byte at Offset
	Size   int    // in bytes; of a bit-field in bits
	Bits   bool   // it is a bit-field
	// Gap and GapBits are the bytes, and the bits below a byte, in front of it that no member uses.
	Gap, GapBits int
}

func layoutLines(t *types.Type) (lines []LayoutLine) {
	for _, l := range types.Layout(t) {
		lines = append(lines, LayoutLine(l))
	}
	return lines
}

// Types gives the layouts of all different types of a name, from which namespaces and template arguments may be left
// out if what is meant is clear; else the error is an *AmbiguousError.
func (b *Binary) Types(name string) ([]Layout, error) {
	if err := b.needInfo(); err != nil {
		return nil, err
	}
	list, err := b.info.TypesNamed(name)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		names, err := b.info.TypesLike(name)
		if err != nil {
			return nil, err
		}
		if len(names) > 1 {
			return nil, &AmbiguousError{fmt.Sprintf("%q is ambiguous: %d types in %s", name, len(names), b.Path), names}
		}
		if len(names) == 1 {
			if list, err = b.info.TypesNamed(names[0]); err != nil {
				return nil, err
			}
		}
	}
	var out []Layout
	var seen []string
	for _, t := range list {
		t = t.Complete()
		l := Layout{Language: t.Lang().String(), Size: t.Size, Lines: layoutLines(t)}
		if text := fmt.Sprint(l); !slices.Contains(seen, text) {
			seen = append(seen, text)
			out = append(out, l)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("type %q in %s: %w", name, b.Path, ErrNotFound)
	}
	return out, nil
}

// Variables are those of one function.
type Variables struct {
	Declaration, File string
	Line              int
	Entry             uint64 // address in the file
	PrologueEnd       uint64 // address where its first line begins, when its frame is set up
	Inlined           int    // places where it was inlined
	Vars              []Variable
}

// Variable is a parameter or variable of a function.
type Variable struct {
	Declaration string
	Kind        string // param, result or var
	Line        int
	At          uint64 // the address for which Location holds
	Location    string // "rdi", "[rsp+8]", "= 5", or why it is not available
}

// maxLooks bounds the addresses of a function at which its variables are looked for.
const maxLooks = 4096

// Vars gives the variables of the functions of a name.
func (b *Binary) Vars(name string) ([]Variables, error) {
	if err := b.needInfo(); err != nil {
		return nil, err
	}
	funcs, err := b.obj.Match(objfile.NewQuery(name, ""))
	if err != nil {
		return nil, err
	}
	var out []Variables
	var unread error
	for i := range funcs {
		fn, err := b.info.FunctionAt(funcs[i].Addr)
		if err != nil && !errors.Is(err, debuginfo.ErrNotFound) {
			unread = err
		}
		if err != nil || fn.Own() == nil {
			continue
		}
		v, err := b.variables(fn)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	if len(out) == 0 && unread == nil {
		// By a part of its name.
		fns, err := b.info.FunctionsNamed(name)
		if err != nil {
			return nil, err
		}
		for _, fn := range fns {
			if fn.Own() == nil {
				n, err := b.info.CopyCount(fn)
				if err != nil {
					return nil, err
				}
				unread = fmt.Errorf("it has no out-of-line code: it has %d inlined instances", n)
				if n == 0 {
					unread = errors.New("it was optimized out")
				}
				continue
			}
			v, err := b.variables(fn)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
	}
	if len(out) == 0 && unread != nil {
		return nil, fmt.Errorf("function %q of %s: %w", name, b.Path, unread)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("function %q in the debug information of %s: %w", name, b.Path, ErrNotFound)
	}
	return out, nil
}

func (b *Binary) variables(fn *debuginfo.Function) (v Variables, err error) {
	v = Variables{File: fn.File, Line: fn.Line, Entry: fn.Entry}
	if v.Declaration, err = b.info.Prototype(fn); err != nil {
		return v, err
	}
	if v.Inlined, err = b.info.CopyCount(fn); err != nil {
		return v, err
	}
	v.PrologueEnd, _ = b.info.Body(fn)
	params, err := b.info.Params(fn.Own(), fn.Entry)
	if err != nil {
		return v, err
	}
	for i, p := range params {
		at := fn.Entry
		if p.Late && v.PrologueEnd > fn.Entry {
			if later, err := b.info.Params(fn.Own(), v.PrologueEnd); err == nil && i < len(later) {
				p, at = later[i], v.PrologueEnd
			}
		}
		kind := "param"
		if p.Result {
			kind = "result"
		}
		v.Vars = append(v.Vars, Variable{types.Declare(p.Type, p.Name), kind, p.Line, at, b.obj.Arch().PlaceText(p.Place)})
	}
	// A variable is visible in its block only, so that the addresses of all lines are looked at.
	type id struct {
		name string
		line int
	}
	found := map[id]int{}
	for _, at := range b.linesIn(fn) {
		locals, err := b.info.Locals(fn.Own(), at)
		if err != nil {
			continue
		}
		for _, l := range locals {
			k := id{l.Name, l.Line}
			i, ok := found[k]
			if ok && !(v.Vars[i].Location == "" && l.Place.Kind != types.Unavailable) {
				continue
			}
			n := Variable{types.Declare(l.Type, l.Name), "var", l.Line, at, ""}
			if l.Place.Kind != types.Unavailable {
				n.Location = b.obj.Arch().PlaceText(l.Place)
			}
			if ok {
				v.Vars[i] = n
				continue
			}
			found[k] = len(v.Vars)
			v.Vars = append(v.Vars, n)
		}
	}
	for i := range v.Vars {
		if v.Vars[i].Location == "" {
			v.Vars[i].Location = "optimized out"
		}
	}
	return v, nil
}

// linesIn are the addresses at which lines of a function's own file begin in it.
func (b *Binary) linesIn(fn *debuginfo.Function) (addrs []uint64) {
	lines, err := b.info.LinesOf(fn.File)
	if err != nil {
		return nil
	}
	for _, l := range lines {
		for _, r := range fn.Ranges {
			if r.Low <= l.Addr && l.Addr < r.High && len(addrs) < maxLooks {
				addrs = append(addrs, l.Addr)
			}
		}
	}
	slices.Sort(addrs)
	return addrs
}

// CodeLine is a place of code that came from a line.
type CodeLine struct {
	File string
	Line int
	Addr uint64
	// Functions are those that the code is of: what was inlined first, last the one with code of its own.
	Functions []string
}

// maxLines bounds the lines that are listed at once.
const maxLines = 10000

// Lines gives the code of a file's lines from one to another.
func (b *Binary) Lines(file string, from, to int) ([]CodeLine, error) {
	if err := b.needInfo(); err != nil {
		return nil, err
	}
	lines, err := b.info.LinesOf(file)
	if err != nil {
		return nil, err
	}
	var out []CodeLine
	last := 0
	for _, l := range lines {
		if l.Line.Line < from || l.Line.Line > to || l.Line.Line == last {
			continue
		}
		last = l.Line.Line
		sites, err := b.info.SitesOf(file, last, 0)
		if err != nil {
			return nil, err
		}
		for _, s := range sites {
			if s.Line.Line != last {
				continue
			}
			c := CodeLine{File: s.File, Line: s.Line.Line, Addr: s.Addr}
			for _, i := range s.Chain {
				name := i.Func.Qualified
				if name == "" {
					name = i.Func.Name
				}
				c.Functions = append(c.Functions, name)
			}
			if out = append(out, c); len(out) >= maxLines {
				return out, nil
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("code of %s:%d-%d in %s: %w", file, from, to, b.Path, ErrNotFound)
	}
	return out, nil
}

// IsMissing tells whether an error says that a file, process, function, type or line is not there.
func IsMissing(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, target.ErrGone) ||
		errors.Is(err, ErrNoDebugInfo)
}
