package dotnet

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"trocar/internal/binary/clr"
	"trocar/internal/binary/objfile"
	"trocar/internal/process/target"
)

// How the runtime lays out objects is its own affair, which no file tells. From .NET 9 on the library has a description
// of the runtime's own structures in it, for debuggers (docs/design/datacontracts of dotnet/runtime). By it, the types
// that are loaded are found in the process, and with them where the fields are: this is read, and compared with what
// the metadata says, field by field. Nothing is worked out.

// world are the types that are loaded in a process.
type world struct {
	pid     target.PID
	mem     memory
	maps    []target.Mapping
	of      structures
	modules map[uint64]*module // by address; nil: it cannot be used
	list    uint64             // where the list of assemblies begins
	listed  uint64             // where each that is listed has its module, or its assembly
	files   map[string]*objfile.File
	program string            // of the process
	bundled []objfile.Bundled // in that
	names   map[uint64]string // of types, by the addresses of their descriptions; "": it is none
	looked  time.Time         // when the mappings were last read
	steps   int               // that naming a type has taken
}

// memory is that of a process.
type memory interface {
	io.ReaderAt
	io.Closer
}

// module is an assembly as the runtime has loaded it.
type module struct {
	addr  uint64
	types uint64 // its table of types, by number
	image *clr.Image
}

// structures are offsets in the runtime's structures, those that are used.
type structures struct {
	MethodTable struct {
		MTFlags, MTFlags2, BaseSize, EEClassOrCanonMT, Module, PerInstInfo offset
	}
	Module          struct{ Base, Path, TypeDefToMethodTableMap offset }
	ModuleLookupMap struct{ TableData offset }
	// Assembly is told from .NET 10 on, which has it between what is listed and the module.
	Assembly struct{ Module offset }
}

// globals are variables, by their numbers in a table of their addresses.
type globals struct{ AppDomain, ObjectMethodTable global }

// global is the number; 0: it is not told.
type global int

// UnmarshalJSON reads [[NUMBER],TYPE].
func (g *global) UnmarshalJSON(text []byte) error {
	number, _, _ := strings.Cut(strings.TrimLeft(string(text), "["), "]")
	n, err := strconv.ParseUint(number, 10, 8)
	*g = global(n)
	return err
}

// offset is one more than the offset; 0: it is not told.
type offset uint64

// UnmarshalJSON reads a number, or a number and a type.
func (o *offset) UnmarshalJSON(text []byte) error {
	number, _, _ := strings.Cut(strings.TrimPrefix(string(text), "["), ",")
	n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 16)
	*o = offset(n) + 1
	return err
}

const (
	descriptor      = "DotNetRuntimeContractDescriptor"
	descriptorMagic = "DNCCDAC\x00"
	maxDescription  = 1 << 18
)

// openWorld looks at the runtime in a process.
func openWorld(pid target.PID) (w *world, err error) {
	w = &world{
		pid: pid, looked: time.Now(), modules: map[uint64]*module{}, files: map[string]*objfile.File{},
		names: map[uint64]string{},
	}
	w.program, _, _ = pid.Program()
	if w.maps, err = pid.Maps(); err != nil {
		return nil, err
	}
	if w.mem, err = pid.Memory(); err != nil {
		return nil, err
	}
	if err = w.describe(); err != nil {
		_ = w.Close()
		return nil, err
	}
	return w, nil
}

// Close gives back what reading took.
func (w *world) Close() error {
	for _, f := range w.files {
		if f != nil {
			_ = f.Close() // it was only read
		}
	}
	return w.mem.Close()
}

// describe reads the description of the runtime's structures.
func (w *world) describe() (err error) {
	defer objfile.Guard(&err)()
	for i := range w.maps {
		m := &w.maps[i]
		single := len(w.bundle(m)) > 0
		if m.Perm&target.Exec == 0 || !m.IsFile() || path.Base(m.Path) != Library && !single {
			continue
		}
		f, err := w.open(m)
		if err != nil {
			return err
		}
		at, _, ok := f.Symbol(descriptor)
		bias, known := f.Bias(m.Start, m.Offset, m.End-m.Start)
		if !ok || !known {
			return errors.New("it takes .NET 9 or later, which describes how it lays them out")
		}
		// Magic, flags, size of the text, its address, how many variables there are, and their addresses.
		head := w.bytes(at+bias, 40)
		if head == nil || string(head[:8]) != descriptorMagic {
			return errors.New("the runtime's description of itself cannot be read")
		}
		size := min(binary.LittleEndian.Uint32(head[12:]), maxDescription)
		g, err := w.structures(w.bytes(binary.LittleEndian.Uint64(head[16:]), uint64(size)))
		variable := func(i global) uint64 {
			if i == 0 {
				return 0
			}
			return w.word(w.word(binary.LittleEndian.Uint64(head[32:]) + 8*uint64(i)))
		}
		if err == nil && !w.findList(variable(g.AppDomain), variable(g.ObjectMethodTable)) {
			err = errors.New("the runtime's list of assemblies is not where it is expected")
		}
		return err
	}
	return errors.New("the runtime's library is not in its files")
}

// structures reads the text of a description.
func (w *world) structures(text []byte) (globals, error) {
	var told struct {
		Types   structures
		Globals globals
	}
	if err := json.Unmarshal(text, &told); err != nil {
		return globals{}, fmt.Errorf("the runtime's description of itself cannot be read: %w", err)
	}
	w.of = told.Types
	t, m := &w.of.MethodTable, &w.of.Module
	for _, o := range []offset{
		t.MTFlags, t.MTFlags2, t.BaseSize, t.EEClassOrCanonMT, t.Module, t.PerInstInfo, m.Base, m.Path,
		m.TypeDefToMethodTableMap, w.of.ModuleLookupMap.TableData,
	} {
		if o == 0 {
			return globals{}, errors.New("the runtime's description of itself lacks some of what is needed")
		}
	}
	return told.Globals, nil
}

// open opens the file of a mapping.
func (w *world) open(m *target.Mapping) (*objfile.File, error) {
	if f, ok := w.files[m.Path]; ok {
		if f == nil {
			return nil, fmt.Errorf("%s cannot be read", m.Path)
		}
		return f, nil
	}
	opened, err := w.pid.OpenMapped(m)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	f, err := objfile.OpenFile(opened, m.Path)
	w.files[m.Path] = f
	return f, err
}

// bytes reads memory; nil: it cannot be read.
func (w *world) bytes(addr, n uint64) []byte {
	b := make([]byte, n)
	if _, err := w.mem.ReadAt(b, int64(addr)); err != nil || addr>>63 != 0 {
		return nil
	}
	return b
}

// word reads a word, 0 if it cannot be read.
func (w *world) word(addr uint64) uint64 {
	if b := w.bytes(addr, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// at reads a member of a structure.
func (w *world) at(addr uint64, member offset) uint64 { return w.word(addr + uint64(member) - 1) }

// The list of assemblies (appdomain.hpp, arraylist.h of dotnet/runtime, .NET 9 and 10) has how many there are, and a
// first block of so many addresses:
const (
	firstBlock     = 5
	mostAssemblies = 1 << 14
	// A block has the address of the next one, its size, and behind that the addresses; the number is before the first.
	blockSize, blockList, listCount = 8, 16, 8
	// So far the list, and a module in what is listed, are looked for.
	mostDomain, mostListed = 4096, 64
)

// findList finds the list in what the runtime knows of the program. Where it is, is not described in .NET 9; but the
// first that is listed is the library, whose module is that of the type of all objects.
func (w *world) findList(domain, object uint64) bool {
	first := w.at(object, w.of.MethodTable.Module)
	if domain == 0 || object == 0 || first == 0 {
		return false
	}
	for w.list = domain; w.list < domain+mostDomain; w.list += 8 {
		if n := w.count(); n == 0 || n > mostAssemblies || uint32(w.word(w.list+blockSize)) != firstBlock {
			continue
		}
		for w.listed = 0; w.listed < mostListed; w.listed += 8 {
			if w.moduleIn(w.word(w.list+blockList)) == first {
				return true
			}
		}
	}
	return false
}

// count is how many assemblies are listed.
func (w *world) count() uint32 { return uint32(w.word(w.list - listCount)) }

// moduleIn is the module of one that is listed.
func (w *world) moduleIn(one uint64) uint64 {
	if at := w.word(one + w.listed); w.of.Assembly.Module == 0 || at == 0 {
		return at
	} else {
		return w.at(at, w.of.Assembly.Module)
	}
}

// each calls yield with the modules of the assemblies that are listed, until it gives false.
func (w *world) each(yield func(module uint64) bool) {
	left := min(w.count(), mostAssemblies)
	for block := w.list; left > 0 && block != 0; block = w.word(block) {
		n := min(left, uint32(w.word(block+blockSize)))
		if left -= n; n == 0 {
			return
		}
		for i := range n {
			if at := w.moduleIn(w.word(block + blockList + 8*uint64(i))); at != 0 && !yield(at) {
				return
			}
		}
	}
}

// moduleOf is what the runtime has made of an assembly.
func (w *world) moduleOf(f *objfile.File) (m *module, err error) {
	for _, m := range w.modules {
		if m != nil && m.image == f.Managed() {
			return m, nil
		}
	}
	err = errors.New("the process has not loaded the assembly")
	w.each(func(at uint64) bool {
		if w.isOf(at, f) {
			m, err = w.module(at, f.Managed()), nil
		}
		return m == nil
	})
	return m, err
}

// isOf tells whether a module is that of a file: by where the file is mapped to, or by its path.
func (w *world) isOf(module uint64, f *objfile.File) bool {
	base := w.at(module, w.of.Module.Base)
	for i := range w.maps {
		if m := &w.maps[i]; base >= m.Start && base < m.End && m.IsFile() {
			return base-m.Start+m.Offset == f.Base() && sameName(m.Path, f.AttachPath())
		}
	}
	name := w.path(module)
	return name != "" && f.Base() == 0 && sameName(name, f.AttachPath())
}

// sameName tells whether a file that was opened may be one that is mapped: which one it is, its module tells.
func sameName(mapped, opened string) bool {
	return path.Base(mapped) == path.Base(opened) || strings.Contains(opened, "/map_files/")
}

// module is the one at an address. im is its assembly, nil: it is looked for.
func (w *world) module(addr uint64, im *clr.Image) *module {
	if m, ok := w.modules[addr]; ok && (m != nil || im == nil) {
		return m
	}
	if im == nil {
		im = w.assemblyAt(addr)
	}
	if len(w.modules) > mostNames { // of a hostile process
		clear(w.modules)
	}
	w.modules[addr] = nil
	if im == nil {
		return nil
	}
	m := &module{addr: addr, image: im}
	table := addr + uint64(w.of.Module.TypeDefToMethodTableMap) - 1
	m.types = w.at(table, w.of.ModuleLookupMap.TableData)
	w.modules[addr] = m
	return m
}

// assemblyAt is the file of a module: that of the mapping where it was loaded to, else that of its path, since some are
// copied into memory.
func (w *world) assemblyAt(module uint64) *clr.Image {
	base := w.at(module, w.of.Module.Base)
	for i := range w.maps {
		m := &w.maps[i]
		if !m.IsFile() || base < m.Start || base >= m.End {
			continue
		}
		f, err := w.open(m)
		if bundle := w.bundle(m); len(bundle) > 0 && err == nil {
			at := base - m.Start + m.Offset
			f = w.member(m, bundle, func(b *objfile.Bundled) bool { return b.Offset == at })
		}
		if f == nil || err != nil {
			return nil
		}
		return f.Managed()
	}
	name := w.path(module)
	if name == "" {
		return nil
	}
	f, ok := w.files[name]
	if !ok {
		f, _ = objfile.Open(w.pid.Ours(name))
		w.files[name] = f
	}
	if f == nil {
		return nil
	}
	return f.Managed()
}

// bundle are the files in the program, if a mapping is of that.
func (w *world) bundle(m *target.Mapping) []objfile.Bundled {
	if !m.IsFile() || m.Path != w.program {
		return nil
	}
	if w.bundled == nil {
		w.bundled = []objfile.Bundled{}
		if f, err := w.open(m); err == nil {
			w.bundled = f.Bundle()
		}
	}
	return w.bundled
}

// member is one of them.
func (w *world) member(m *target.Mapping, list []objfile.Bundled, is func(*objfile.Bundled) bool) *objfile.File {
	for i := range list {
		if !is(&list[i]) {
			continue
		}
		name := w.pid.Ours(m.Path) + "!/" + list[i].Name
		f, ok := w.files[name]
		if !ok {
			f, _ = objfile.Open(name)
			w.files[name] = f
		}
		return f
	}
	return nil
}

const maxPath = 1024

// path is the one that an assembly was loaded from.
func (w *world) path(module uint64) string {
	var chars []uint16
	for b := w.bytes(w.at(module, w.of.Module.Path), 2*maxPath); len(b) >= 2; b = b[2:] {
		c := binary.LittleEndian.Uint16(b)
		if c == 0 {
			break
		}
		chars = append(chars, c)
	}
	return string(utf16.Decode(chars))
}

// sibling is the assembly of a name that the process has mapped.
func (w *world) sibling(name string) *objfile.File {
	for i := range w.maps {
		m := &w.maps[i]
		if bundle := w.bundle(m); len(bundle) > 0 {
			f := w.member(m, bundle, func(b *objfile.Bundled) bool { return b.Name == name+".dll" })
			if f != nil && f.Managed() != nil {
				return f
			}
		}
		if m.IsFile() && path.Base(m.Path) == name+".dll" {
			if f, err := w.open(m); err == nil && f.Managed() != nil {
				return f
			}
		}
	}
	return nil
}

const (
	mostTypes = 1 << 20
	// The lowest bits of addresses in the runtime's structures say what they are of.
	marks = 7
)

// described is the description (MethodTable) of a type, by its number.
func (w *world) described(m *module, typ uint32) (table uint64, ok bool) {
	if typ == 0 || typ > m.image.Types() || typ > mostTypes || m.types == 0 {
		return 0, false
	}
	table = w.word(m.types+8*uint64(typ)) &^ marks
	if table == 0 {
		return 0, false
	}
	of, number := w.declared(table)
	return table, of == m.addr && number == typ
}

// declared is the module and the number of the type that a description is of.
func (w *world) declared(table uint64) (module uint64, typ uint32) {
	return w.at(table, w.of.MethodTable.Module), uint32(w.at(table, w.of.MethodTable.MTFlags2)) >> 8
}
