package debuginfo

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/cfi"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// ErrNone is returned for a file without DWARF.
var ErrNone = errors.New("no debug info")

// ErrNotFound is returned for a function, type or line that the debug info doesn't have.
var ErrNotFound = errors.New("not in the debug info")

// ErrAmbiguous is returned for a type that units define differently.
var ErrAmbiguous = errors.New("units define it differently")

// Source tells where the parts of a program's debug info are.
type Source struct {
	Path    string    // of the program: for messages, and where .dwo and .dwp files are looked for
	Code    Sections  // the program as it is loaded: .eh_frame
	Debug   Sections  // the file with the DWARF; nil: Code
	DebugAt string    // its path
	Arch    *abi.Arch // tells the names and meaning of registers
	// ThreadLocal is where the running thread has what lies at an offset in the program's block of thread-local variables.
	// Nil: not known.
	ThreadLocal func(offset uint64) (types.Place, error)
	// Open opens the other files that debug info names: .dwo, .dwp and the common file of dwz. Nil: they are not read.
	Open func(path string) (Sections, error)
	// Paths are those that Open may be given for a name in debug info, best first. Nil: the name itself.
	Paths func(name string) []string
	// Dirs are further folders where such files may be.
	Dirs []string
	// Fetch opens a debug file by its build id, from elsewhere. Nil: none are fetched.
	Fetch func(buildID string) (file Sections, path string, err error)
}

// Info is the debug info of one program or library. It may be used by several goroutines.
type Info struct {
	src    Source
	main   *file
	frames *cfi.Table
	parent *Info        // of which this is a fork
	closed *atomic.Bool // shared with forks: types that were handed out ask no more

	mu    sync.Mutex // held while reading: unit data are made once, caches are shared
	files []*file    // by id
	split splitFiles

	kept      []*unit // units with heavy data, oldest first
	keptSize  int
	keptLimit int
	scanned   int       // bytes of debug info since the last eviction
	rows      []lineRow // memory for those of a sequence

	partialOnce  sync.Once
	partialLangs map[*unit]types.Language

	hash    nameHash
	lookups int
	stated  *addrIndex // what .debug_aranges says, without units; nil: not asked for, or addrs is there
	addrs   *addrIndex
	names   *nameIndex
	gone    *nameIndex // of functions that the linker has taken out; nil: not asked for yet
	inlines *inlineIndex
	copies  copyIndex // nil: not made yet

	copiesAsked int // how often
	typeIdx     *typeIndex
	globals     map[string][]Global // by the names that were asked for
	enums       map[enumsIn][]enumPlace
	vtables     map[uint64][]string // of Rust; nil: not looked for yet
	conv        converter
}

// New reads the DWARF of a program. It returns ErrNone (wrapped) if there is none.
func New(src Source) (in *Info, err error) {
	defer objfile.Guard(&err)()
	if src.Debug == nil {
		src.Debug, src.DebugAt = src.Code, src.Path
	}
	in = &Info{src: src, closed: new(atomic.Bool), hash: newNameHash(), keptLimit: keptLimit}
	in.main = in.newFile(src.DebugAt, src.Debug)
	in.conv.init(in)
	if !hasDWARF(src.Debug) {
		return nil, fmt.Errorf("%s: %w", src.Path, ErrNone)
	}
	in.frames = cfi.New(src.Code, src.Arch, func() cfi.Sections { return src.Debug })
	if err := in.openAlt(); err != nil {
		in.main.note(err)
	}
	return in, nil
}

func (in *Info) newFile(name string, sec Sections) *file {
	f := &file{info: in, name: name, sec: sec, id: len(in.files)}
	in.files = append(in.files, f)
	return f
}

// Path is that of the file that has the debug info.
func (in *Info) Path() string { return in.src.DebugAt }

// Frames gives the call frame information.
func (in *Info) Frames() *cfi.Table { return in.frames }

// Damage is the first thing that could not be read, nil if all went well. What could be read before it counts.
func (in *Info) Damage() error {
	for _, f := range in.files {
		if err := f.damage(); err != nil {
			return err
		}
	}
	return nil
}

// Languages lists the languages of the units, each once, with the producer of the first.
func (in *Info) Languages() (langs []Compiler, err error) {
	defer objfile.Guard(&err)()
	in.mu.Lock()
	defer in.mu.Unlock()
	seen := make(map[types.Language]bool)
	for _, u := range in.main.unitList() {
		ro := u.load()
		if ro.err != nil || ro.lang == types.UnknownLanguage || seen[ro.lang] {
			continue
		}
		seen[ro.lang] = true
		langs = append(langs, Compiler{ro.lang, ro.producer, int(u.version)})
	}
	return langs, nil
}

// Compiler tells what wrote the debug info of a language.
type Compiler struct {
	Language types.Language
	Producer string
	DWARF    int // version
}

// keptLimit bounds the memory of what has been read of whole units.
const keptLimit = 48 << 20

// keep counts data of a unit, and gives up that of the units read longest ago if it is too much.
func (in *Info) keep(u *unit, size int) {
	u.root.size += size
	in.keptSize += size
	for i, k := range in.kept {
		if k == u {
			in.kept = append(in.kept[:i], in.kept[i+1:]...)
			break
		}
	}
	in.kept = append(in.kept, u)
	for in.keptSize > in.keptLimit && len(in.kept) > 1 {
		old := in.kept[0]
		in.kept = append(in.kept[:0], in.kept[1:]...)
		in.keptSize -= old.root.size
		old.root.heavy = heavy{}
	}
}
