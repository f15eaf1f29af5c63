package debuginfo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/cfi"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// fakeSections is an object file made of bytes.
type fakeSections map[string][]byte

func (s fakeSections) Data(name string) ([]byte, error) {
	if b, ok := s[name]; ok {
		return b, nil
	}
	return nil, objfile.ErrNoSection
}

func (s fakeSections) Section(name string) (objfile.Section, bool) {
	b, ok := s[name]
	return objfile.Section{Name: name, Type: 1, Size: uint64(len(b)), Addr: 0x1000}, ok
}

// seeds compiles small programs and calls add with the debug info of each.
func seeds(f *testing.F, add func(*objfile.File)) {
	dir := f.TempDir()
	for i, flags := range [][]string{{"-O2", "-gdwarf-5"}, {"-O0", "-gdwarf-4"}, {"-O2", "-gdwarf-2", "-gstrict-dwarf"}} {
		out := filepath.Join(dir, string(rune('a'+i)))
		src, _ := filepath.Abs("testdata/plain.c")
		cmd := exec.Command("gcc", append(flags, "-o", out, src)...)
		if msg, err := cmd.CombinedOutput(); err != nil {
			f.Logf("no seed: %v\n%s", err, msg)
			continue
		}
		if file, err := objfile.Open(out); err == nil {
			add(file)
			file.Close()
		}
	}
	_ = os.Remove(dir)
}

// tooSlow fails the test if a small input takes as long as only what is not bounded can.
func tooSlow(t *testing.T, start time.Time, size int) {
	if d := time.Since(start); d > 3*time.Minute {
		t.Errorf("%d bytes took %v", size, d)
	}
}

// FuzzDWARF asks everything of damaged debug info.
func FuzzDWARF(f *testing.F) {
	seeds(f, func(file *objfile.File) {
		get := func(name string) []byte {
			b, _ := file.Data(name)
			return append([]byte(nil), b...)
		}
		f.Add(get(".debug_info"), get(".debug_abbrev"), get(".debug_str"), get(".debug_line"),
			append(get(".debug_loclists"), get(".debug_loc")...),
			append(get(".debug_rnglists"), get(".debug_ranges")...), get(".debug_aranges"), get(".eh_frame"))
	})
	f.Fuzz(func(t *testing.T, info, abbrev, str, line, loc, ranges, aranges, frame []byte) {
		start := time.Now()
		s := fakeSections{
			".debug_info": info, ".debug_abbrev": abbrev, ".debug_str": str, ".debug_line": line, ".debug_line_str": str,
			".debug_loclists": loc, ".debug_loc": loc, ".debug_rnglists": ranges, ".debug_ranges": ranges,
			".debug_aranges": aranges,
			".debug_types":   info, ".debug_addr": ranges, ".debug_str_offsets": ranges, ".eh_frame": frame,
			".debug_frame": frame,
		}
		in, err := New(Source{Path: "fuzz", Code: s, Arch: abi.AMD64})
		if err != nil {
			return
		}
		askAll(in)
		tooSlow(t, start, len(info))
	})
}

// askAll asks a program's debug info everything, of some functions.
func askAll(in *Info) {
	n := 0
	var addrs []uint64
	var names []string
	look := func(fn *Function) bool {
		if n++; n > 60 {
			return false
		}
		in.Prototype(fn)
		in.CopyCount(fn)
		names = append(names, fn.Name, fn.Qualified)
		if own := fn.Own(); own != nil {
			body, _ := in.Body(fn)
			for _, pc := range []uint64{fn.Entry, body, fn.Entry + 7} {
				vars, _ := in.Params(own, pc)
				locals, _ := in.Locals(own, pc)
				for _, v := range append(vars, locals...) {
					types.Declare(v.Type, v.Name)
					walkType(v.Type, 0)
					evalIfComputed(v.Place)
				}
				addrs = append(addrs, pc)
			}
		}
		copies, _ := in.Copies(fn)
		for i, c := range copies {
			if i > 4 {
				break
			}
			in.Params(c, c.Entry)
			in.Locals(c, c.Entry)
		}
		return true
	}
	in.Functions(look)
	n = 0
	in.InlinedOnly(look)
	for i, name := range names {
		if i < 20 {
			in.FunctionsNamed(name)
			in.Globals(name)
			in.TypeNamed(name, nil)
		}
	}
	for _, name := range []string{"struct shapes", "pair_t", "enum color", "int"} {
		if list, err := in.TypesNamed(name); err == nil {
			for _, t := range list {
				walkType(t, 0)
			}
		}
	}
	in.TypesLike("shapes")
	in.Each(addrs, func(own *Info, _ int, fn *Function) {
		own.Prototype(fn)
		own.CopyCount(fn)
	})
	for i, a := range addrs {
		if i > 40 {
			break
		}
		in.InstancesAt(a)
		in.LineAt(a)
		in.Frames().At(a)
	}
	in.SitesOf("plain.c", 50, 0)
	in.LinesOf("plain.c")
	in.Files()
	in.Languages()
	in.Frames().Each(func(*cfi.Row) bool { return true })
}

// FuzzSplit reads damaged .dwo and .dwp files, and dwz's common file.
func FuzzSplit(f *testing.F) {
	dir := f.TempDir()
	src, _ := filepath.Abs("testdata/plain.c")
	for i, version := range []string{"-gdwarf-5", "-gdwarf-4"} {
		out := filepath.Join(dir, string(rune('a'+i)))
		for _, args := range [][]string{
			{"gcc", "-O2", version, "-gsplit-dwarf", "-c", "-o", out + ".o", src},
			{"gcc", "-o", out, out + ".o"},
			{"llvm-dwp", "-e", out, "-o", out + ".dwp"},
		} {
			if msg, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				f.Logf("no seed: %v\n%s", err, msg)
			}
		}
		prog, err := objfile.Open(out)
		if err != nil {
			continue
		}
		part, err := objfile.Open(out + ".dwp")
		if err != nil {
			part, err = objfile.Open(out + ".dwo")
		}
		if err != nil {
			prog.Close()
			continue
		}
		get := func(of *objfile.File, name string) []byte {
			b, _ := of.Data(name)
			return append([]byte(nil), b...)
		}
		f.Add(get(prog, ".debug_info"), get(prog, ".debug_abbrev"), get(prog, ".debug_addr"), get(part, ".debug_info.dwo"),
			get(part, ".debug_abbrev.dwo"), get(part, ".debug_str_offsets.dwo"), get(part, ".debug_str.dwo"),
			append(get(part, ".debug_loclists.dwo"), get(part, ".debug_loc.dwo")...), get(part, ".debug_cu_index"))
		prog.Close()
		part.Close()
	}
	f.Fuzz(func(t *testing.T, info, abbrev, addr, partInfo, partAbbrev, offsets, str, loc, index []byte) {
		start := time.Now()
		prog := fakeSections{
			".debug_info": info, ".debug_abbrev": abbrev, ".debug_addr": addr, ".debug_str": str, ".debug_ranges": loc,
			".debug_rnglists":   loc,
			".gnu_debugaltlink": append([]byte("common\x00"), index...),
		}
		part := fakeSections{
			".debug_info.dwo": partInfo, ".debug_abbrev.dwo": partAbbrev, ".debug_str_offsets.dwo": offsets,
			".debug_str.dwo":      str,
			".debug_loclists.dwo": loc, ".debug_loc.dwo": loc, ".debug_rnglists.dwo": loc, ".debug_types.dwo": partInfo,
			".debug_info": partInfo, ".debug_abbrev": partAbbrev, ".debug_str": str, ".debug_cu_index": index,
			".debug_tu_index":    index,
			".note.gnu.build-id": append([]byte{4, 0, 0, 0, byte(len(index)), 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0}, index...),
		}
		for _, packaged := range []bool{true, false} {
			in, err := New(Source{Path: "fuzz", Code: prog, Arch: abi.AMD64, Open: func(path string) (Sections, error) {
				if strings.HasSuffix(path, ".dwp") && !packaged {
					return nil, os.ErrNotExist
				}
				return part, nil
			}})
			if err != nil {
				return
			}
			askAll(in)
		}
		tooSlow(t, start, len(info)+len(partInfo))
	})
}

func walkType(t *types.Type, depth int) {
	if t == nil || depth > 6 {
		return
	}
	t = t.Complete()
	_ = t.String()
	types.Declare(t, "x")
	for i, f := range t.Fields {
		if i < 50 {
			walkType(f.Type, depth+1)
		}
	}
	walkType(t.Elem, depth+1)
}

// evalIfComputed checks that a place's computation is well-formed.
func evalIfComputed(p types.Place) {
	evalPlace(fakeMachine{seed: 3}, p)
	if p.Pointee != nil {
		evalPlace(fakeMachine{seed: 3}, *p.Pointee)
	}
}

// FuzzExpression compiles damaged expressions.
func FuzzExpression(f *testing.F) {
	for _, e := range [][]byte{
		{opReg0 + 5},
		{opFbreg, 0x6c},
		{opReg0, opPiece, 8, opReg0 + 3, opPiece, 8},
		{opBreg0 + 7, 8, opDeref, opPlusUconst, 4, opStackValue},
		{opEntryValue, 1, opReg0 + 5, opStackValue},
		{opImplicitPointer, 1, 0, 0, 0, 0},
		{opLit0 + 3, opConst1u, 9, opMul, opStackValue},
		{opBreg0, 0, opConst1u, 0xff, opAnd, opLit0, opNe, opBra, 1, 0, opNop, opStackValue},
		{opBitPiece, 8, 8},
		{opSkip, 0xfd, 0xff},
	} {
		f.Add(e, uint64(0x1000))
	}
	f.Fuzz(func(t *testing.T, expr []byte, pc uint64) {
		s := fakeSections{".debug_info": {8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 0}, ".debug_abbrev": {0}, ".debug_addr": expr}
		in, err := New(Source{Path: "fuzz", Code: s, Arch: abi.AMD64})
		if err != nil {
			t.Fatal(err)
		}
		u := in.main.unitList()[0]
		u.load()
		for _, entry := range []bool{true, false} {
			e := &exprEnv{in: in, u: u, pc: pc, entry: entry}
			e.base = e.cfa
			evalIfComputed(e.place(expr))
			e.value(expr)
		}
	})
}

// FuzzLines reads damaged line tables.
func FuzzLines(f *testing.F) {
	seeds(f, func(file *objfile.File) {
		b, _ := file.Data(".debug_line")
		str, _ := file.Data(".debug_line_str")
		f.Add(append([]byte(nil), b...), append([]byte(nil), str...))
	})
	f.Fuzz(func(t *testing.T, line, str []byte) {
		s := fakeSections{".debug_line": line, ".debug_line_str": str, ".debug_str": str}
		u := &unit{f: &file{info: &Info{}, sec: s}, format: format{version: 5, addrSize: 8}, root: &root{}}
		lt := &lineTable{u: u}
		if lt.parse(line, 0) != nil {
			return
		}
		lt.decode()
		for i, r := range lt.rows {
			if i < 100 {
				lt.rowAt(r.addr)
				lt.path(uint64(r.file))
			}
		}
	})
}
