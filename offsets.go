package trocar

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/opener"
	"trocar/internal/order"
	"trocar/internal/process/match"
	"trocar/internal/process/symbolize"
	"trocar/internal/process/target"
)

// OffsetsRequest asks where the code of functions is.
type OffsetsRequest struct {
	// Image is a file or the name of one; in a process, a pattern for the path or the name of what it has mapped.
	Image     string
	PID       int      // 0: no process
	Functions []string // patterns; none: all
	// Map is a file of lines "ADDRESS SIZE NAME" that tells what functions there are, as crossgen writes it; "": the
	// image's own.
	Map   string
	Files Files
}

// Offsets are where the code of a file's functions is.
type Offsets struct {
	Path    string
	Managed bool // addresses are those of an assembly of .NET (RVA)
	Parts   []Part
	Mapped  []MappedPart // executable ones of the process
	Places  []Placement  // by address
	Outside int          // functions whose code is not in the file
}

// Part is a part of the file that has code.
type Part struct{ Addr, Offset, Size uint64 }

// MappedPart is a part of the file that a process has mapped.
type MappedPart struct{ Start, End, Offset uint64 }

// Placement is where a function is.
type Placement struct {
	Name    string
	Offset  uint64 // in the file
	Addr    uint64 // as the file counts
	Address uint64 // in the process; 0: it is not mapped, or none was asked about
	Size    uint64 // 0: not known
}

// FindOffsets finds where the code of functions is, and gives one file after another. Errors: see IsMissing.
func FindOffsets(ctx context.Context, r OffsetsRequest, show func(*Offsets) error) error {
	if r.PID == 0 {
		b, err := OpenBinary(ctx, r.Image, r.Files)
		if err != nil {
			return err
		}
		defer b.Close()
		o, err := offsetsOf(&r, b.obj, b.Path, nil)
		if err != nil {
			return err
		}
		return show(o)
	}
	images, err := mappedImages(target.PID(r.PID), r.Image)
	if err != nil {
		return err
	}
	set := r.Files.images(ctx)
	defer set.done()
	var last error
	shown := 0
	for _, m := range images {
		im, err := set.Open(m.open)
		if err != nil {
			last = err
			continue
		}
		o, err := offsetsOf(&r, im.File(), m.path, m.parts)
		if err == nil {
			err = show(o)
			shown++
		}
		if err := cmp.Or(err, im.Close()); err != nil {
			return err
		}
	}
	if shown == 0 && last != nil {
		return last
	}
	return nil
}

// mappedImage is a file that a process has code of.
type mappedImage struct {
	path, open string
	parts      []MappedPart
}

// mappedImages are those whose path or name fits a pattern; the name of a library needs no version.
func mappedImages(pid target.PID, pattern string) (list []mappedImage, err error) {
	maps, err := pid.Maps()
	if err != nil {
		return nil, err
	}
	root, err := pid.Root()
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i := range maps {
		m := &maps[i]
		name := path.Base(m.Path)
		bare, _, _ := strings.Cut(name, ".so")
		if !m.IsFile() || m.Perm&target.Exec == 0 || strings.HasPrefix(m.Path, "/memfd:") ||
			!objfile.MatchGlob(pattern, m.Path) && !objfile.MatchGlob(pattern, name) && pattern != bare {
			continue
		}
		j, ok := at[m.Path]
		if !ok {
			j = len(list)
			at[m.Path] = j
			one := mappedImage{path: m.Path, open: m.Path}
			if !root.Own() {
				one.open = root.String() + m.Path
			}
			if m.Deleted { // the process has it still
				one.open = fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.Start, m.End)
			}
			list = append(list, one)
		}
		list[j].parts = append(list[j].parts, MappedPart{m.Start, m.End, m.Offset})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("process %d has mapped no code of %s: %w", pid, pattern, ErrNotFound)
	}
	return list, nil
}

func offsetsOf(r *OffsetsRequest, obj *objfile.File, name string, mapped []MappedPart) (*Offsets, error) {
	o := &Offsets{Path: name, Managed: obj.Managed() != nil, Mapped: mapped}
	for _, s := range obj.Segments() {
		if s.Exec {
			o.Parts = append(o.Parts, Part{Addr: s.Addr, Offset: s.Offset + obj.Base(), Size: s.FileSize})
		}
	}
	var queries []*objfile.Query
	for _, f := range r.Functions {
		queries = append(queries, objfile.NewQuery(f, ""))
	}
	seen := map[Placement]bool{}
	take := func(s *objfile.Symbol) bool {
		if len(queries) > 0 && !slices.ContainsFunc(queries, func(q *objfile.Query) bool { return q.Match(s) }) {
			return true
		}
		off, ok := obj.Offset(s.Addr)
		if !ok || !obj.Executable(s.Addr) {
			o.Outside++
			return true
		}
		p := Placement{Name: s.Name, Offset: off, Addr: s.Addr, Size: s.Size}
		if objfile.IsMangled(p.Name) {
			p.Name = objfile.Demangle(p.Name)
		}
		for _, m := range mapped {
			if off >= m.Offset && off-m.Offset < m.End-m.Start {
				p.Address = off - m.Offset + m.Start
				break
			}
		}
		if !seen[p] {
			seen[p] = true
			o.Places = append(o.Places, p)
		}
		return true
	}
	err := error(nil)
	if r.Map != "" {
		err = readMap(r.Map, take)
	} else {
		err = obj.Functions(take)
	}
	if err != nil {
		return nil, err
	}
	order.By(o.Places, func(a, b Placement) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Name, b.Name))
	})
	return o, nil
}

// maxMapLine bounds the lines of a map.
const maxMapLine = 1 << 16

// readMap reads the functions of a map: "ADDRESS SIZE NAME", numbers in hexadecimal. In front of names may be their
// result and their assembly: "instance int32 [app] App.Shop::Sell(int32)".
func readMap(name string, take func(*objfile.Symbol) bool) error {
	f, err := opener.Asked(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return parseMap(f, name, take)
}

func parseMap(r io.Reader, name string, take func(*objfile.Symbol) bool) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxMapLine)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		start, rest, _ := strings.Cut(text, " ")
		size, function, ok := strings.Cut(rest, " ")
		addr, err := strconv.ParseUint(strings.TrimPrefix(start, "0x"), 16, 64)
		length, sizeErr := strconv.ParseUint(strings.TrimPrefix(size, "0x"), 16, 64)
		if !ok || err != nil || sizeErr != nil {
			return fmt.Errorf("%s:%d: %.80q is not \"ADDRESS SIZE NAME\" in hexadecimal", name, n, text)
		}
		if _, method, ok := strings.Cut(function, "] "); ok && strings.Contains(method, "::") {
			function = method
		}
		if !take(&objfile.Symbol{Name: function, Addr: addr, Size: length}) {
			break
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Compiled is code that a process runs.
type Compiled struct {
	Start, Size uint64
	Name        string
}

// CompiledIn are the methods whose code in a process a runtime has made, ahead of time or while it runs, by address:
// what perf reads from a perf map. Missing tells what is missing, and why.
func CompiledIn(ctx context.Context, pid int, files Files) (list []Compiled, missing []string, err error) {
	images, err := mappedImages(target.PID(pid), "*")
	if err != nil {
		return nil, nil, err
	}
	set := files.images(ctx)
	defer set.done()
	for _, m := range images {
		im, err := set.Open(m.open)
		if err != nil {
			continue // what is mapped may be gone, or no program
		}
		if im.File().Managed() != nil {
			o, err := offsetsOf(&OffsetsRequest{}, im.File(), m.path, m.parts)
			if err != nil {
				missing = append(missing, fmt.Sprintf("methods of %s: %v", m.path, err))
			} else {
				for _, p := range o.Places {
					if p.Address != 0 {
						list = append(list, Compiled{p.Address, p.Size, p.Name + "[PreJIT]"}) // as .NET calls it
					}
				}
			}
		}
		if err := im.Close(); err != nil {
			return nil, nil, err
		}
	}
	found := false
	for _, r := range match.Runtimes() {
		if r.Inside == nil {
			continue
		}
		at := r.Inside(pid)
		if at == nil {
			continue
		}
		found = true
		if err := at.Names(); err != nil {
			missing = append(missing, fmt.Sprintf("methods that %s has compiled at run time: %v", r.Name, err))
		}
		symbolize.Generated(pid, func(start, size uint64, name string) {
			if r.Readable != nil {
				how := strings.LastIndexByte(name, '[') // it was compiled
				if text, ok := r.Readable(name); ok && how >= 0 {
					name = text + name[how:]
				}
			}
			list = append(list, Compiled{start, size, name})
		})
		if err := at.Close(); err != nil {
			missing = append(missing, err.Error())
		}
	}
	if !found && len(list) == 0 {
		return nil, nil, fmt.Errorf("no runtime that compiles methods is at work in process %d: %w", pid, ErrNotFound)
	}
	order.By(list, func(a, b Compiled) int { return cmp.Compare(a.Start, b.Start) })
	return list, missing, nil
}
