// Package stacktables gives the programs that walk user stacks what they look at: the tables of the files that
// processes map. What is mapped they ask the kernel.
//
//	t := stacktables.New(images, memory)
//	err := t.Process(pid)     // before it is walked
//	err = t.Asked(pid, addr) // when a walk met a file that was not known
//
// Tables are made when a file is first seen in a process, those of large files when a stack goes through them, kept by
// what the file is and by its content, and never changed or moved: they are written before the entries that lead to
// them.
package stacktables

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"trocar/internal/binary/cfi"
	"trocar/internal/binary/image"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/unwind"
	"trocar/internal/compile/record"
	"trocar/internal/process/target"
)

// Memory is where programs look.
type Memory interface {
	// Rules writes rules from a number on; Near writes words from a place on, below record.UnwindNearWords, and Words a
	// piece of those behind.
	Rules(from int, rules []byte) error
	Near(at uint32, words []byte) error
	Words(piece uint32, value []byte) error
	// FileKey asks by what key the kernel knows the file that is mapped in memory of ours; nil: it does not tell. File
	// writes the table of a file.
	FileKey(page []byte) ([]byte, error)
	File(key, value []byte) error
}

// Tables are those that the programs of one run have.
type Tables struct {
	images *image.Set
	memory Memory

	mu    sync.Mutex
	rules *unwind.Rules
	known int      // rules that were written
	near  uint32   // first of the near words that is free
	next  uint32   // first of those behind that is free
	words []uint32 // of the piece in which next is
	piece uint32   // which one that is
	files map[fileKey]*table
	seeds unwind.Seeds
	same  map[[2]uint64]uint32 // first words of tables, by what is in them
	vdso  bool                 // it was looked for
	told  int                  // how many files the programs were told of
	bare  []string             // files of whose code most has no rules
	looks map[target.PID]*looks

	maps []target.Mapping
	text []byte
	now  func() time.Time

	large uint64 // see largeCode
}

// looks are how often a process was looked at.
type looks struct {
	start uint64 // when it was started
	vain  int    // looks in a row at which no table was new, or something failed
	next  time.Time
}

// table is where the rules of a file are; length 0: it has none.
type table struct {
	low      uint64
	at       uint32
	length   uint32
	segments []objfile.Segment
	told     bool // the programs have it
	later    bool // it is large: it is made when a stack goes through it
}

// fileKey says which file it is, and that nobody has written to it since.
type fileKey struct {
	dev, inode uint64
	size       int64
	changed    syscall.Timespec
}

// New makes tables; nothing is written yet.
func New(images *image.Set, memory Memory) *Tables {
	return &Tables{
		images: images, memory: memory, rules: unwind.NewRules(), files: map[fileKey]*table{},
		seeds: unwind.NewSeeds(), same: map[[2]uint64]uint32{}, next: record.UnwindNearWords,
		looks: map[target.PID]*looks{}, now: time.Now, large: largeCode,
	}
}

const (
	// maxLooks bounds the processes of which it is known how often they were looked at.
	maxLooks = 1 << 12
	// Who asks in vain, of files that cannot be opened, waits longer each time.
	leastWait = 2 * time.Millisecond
	mostWait  = time.Second
)

// Process looks at the files that a process has mapped and tells the programs of their tables. The error is the first
// one; it does not keep the other files from being told of.
func (t *Tables) Process(pid target.PID) error { return t.process(pid, 0, true) }

// Asked is Process for what a walk asked for, when it met an address in a file that was not known: large files have no
// table made but that one.
func (t *Tables) Asked(pid target.PID, addr uint64) error { return t.process(pid, addr, false) }

func (t *Tables) process(pid target.PID, addr uint64, large bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	thread := pid.Living() // of which there are files in /proc
	stat, err := thread.Stat()
	if err != nil {
		return err
	}
	l := t.looks[pid]
	if l == nil || l.start != stat.Start {
		if len(t.looks) >= maxLooks {
			clear(t.looks)
		}
		l = &looks{start: stat.Start}
		t.looks[pid] = l
	}
	if t.now().Before(l.next) {
		return nil
	}
	before := t.told
	var failed error
	if t.maps, t.text, err = thread.AppendMaps(t.maps[:0], t.text); err != nil {
		return err
	}
	// What was asked for comes first.
	if i := slices.IndexFunc(t.maps, func(m target.Mapping) bool { return m.Start <= addr && addr < m.End }); i > 0 {
		t.maps[0], t.maps[i] = t.maps[i], t.maps[0]
	}
	for i := range t.maps {
		m := &t.maps[i]
		if m.Perm&target.Exec == 0 {
			continue
		}
		var err error
		switch {
		case m.IsFile():
			err = t.file(thread, m, large || m.Start <= addr && addr < m.End)
		case m.Path == "[vdso]" && !t.vdso:
			err = t.virtual()
		}
		if failed == nil {
			failed = err
		}
	}
	if t.told > before && failed == nil {
		l.vain = 0
		return nil
	}
	l.next = t.now().Add(min(mostWait, leastWait<<min(l.vain, 16)))
	l.vain++
	return failed
}

const pageSize = 4096

// file finds or makes the table of a mapped file. That it cannot be opened, or tells nothing of its frames, is no
// error.
func (t *Tables) file(pid target.PID, m *target.Mapping, large bool) error {
	f, err := pid.OpenMapped(m)
	if err != nil {
		return nil
	}
	defer f.Close()
	return t.opened(f, func() string { return pid.Ours(m.Path) }, large)
}

// opened makes the table of an open file, if it is the first time. Not large: only if that takes a few milliseconds.
func (t *Tables) opened(f *os.File, path func() string, large bool) error {
	key, ok := keyOf(f)
	if !ok {
		return nil
	}
	of := t.files[key]
	if of == nil && len(t.files) >= maxFiles || of != nil && (of.told || of.later && !large) {
		return nil
	}
	if of == nil || of.later {
		var err error
		of, err = t.made(f, path(), large)
		t.files[key] = of
		if of.later {
			return nil
		}
		if err != nil {
			of.length = 0 // it costs too much to try it again and again
			_ = t.publish(f, key, of)
			return err
		}
	}
	return t.publish(f, key, of)
}

// keyOf is a regular file's key.
func keyOf(f *os.File) (key fileKey, ok bool) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return key, false
	}
	key.size = info.Size()
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		key.dev, key.inode, key.changed = st.Dev, st.Ino, st.Ctim
	}
	return key, true
}

// largeCode is how many bytes of code make a file large: a table of as much is made in some 5 ms.
const largeCode = 4 << 20

// made makes the table of a file. One without call frame information leaves it empty.
func (t *Tables) made(f *os.File, path string, large bool) (*table, error) {
	of := &table{}
	im, err := t.images.OpenFile(f, path)
	if err != nil {
		return of, nil
	}
	defer im.Close()
	file, code := im.File(), uint64(0)
	for _, s := range file.Segments() {
		if s.Exec {
			code += s.FileSize
		}
	}
	if of.later = !large && code > t.large; of.later {
		return of, nil
	}
	defer file.Evict()
	ruled, err := t.place(of, file, im.Frames())
	if text := textOf(file); text >= leastCode && ruled < text/2 && len(t.bare) < mostBare {
		t.bare = append(t.bare, fmt.Sprintf("%s (%d %% has it)", path, 100*ruled/text))
	}
	return of, err
}

const (
	// leastCode is how many bytes of code are worth telling that nothing is known of the callers of it.
	leastCode = 1024
	// mostBare bounds the files that are told of.
	mostBare = 8
)

// textOf is how many bytes of code a file has, without the space between; 0: it does not tell.
func textOf(f *objfile.File) (size uint64) {
	const executable = 4 // SHF_EXECINSTR
	for _, s := range f.Sections() {
		if s.Flags&executable != 0 {
			size += s.Size
		}
	}
	return size
}

// Bare are files that were looked at of whose code most tells nothing of its callers, with how much of it does.
func (t *Tables) Bare() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.bare)
}

// mostAhead bounds the libraries that are looked at before they are mapped.
const mostAhead = 100

// Ahead makes the tables of a program or library, and of the libraries that it will have mapped, so that they are there
// when it begins to run. What cannot be found is left for later. The error is the first one, as of Process.
func (t *Tables) Ahead(root target.Root, path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	paths, seen := []string{path}, map[string]bool{path: true}
	var failed error
	for len(paths) > 0 && len(seen) < mostAhead {
		path, paths = paths[0], paths[1:]
		needed, err := t.ahead(root, path)
		if failed == nil {
			failed = err
		}
		for _, p := range needed {
			if !seen[p] {
				seen[p] = true
				paths = append(paths, p)
			}
		}
	}
	return failed
}

// File makes the table of a program or library alone, of a process that has ended: of a large one when it is asked for
// again. One that cannot be found is no error.
func (t *Tables) File(root target.Root, path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, err := root.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	key, _ := keyOf(f)
	of := t.files[key]
	return t.opened(f, func() string { return root.Ours(path) }, of != nil && of.later)
}

// ahead makes the table of one file and finds the libraries that it asks for.
func (t *Tables) ahead(root target.Root, path string) (libraries []string, err error) {
	f, err := root.Open(path)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	ours := root.Ours(path)
	failed := t.opened(f, func() string { return ours }, true)
	im, err := t.images.OpenFile(f, ours)
	if err != nil {
		return nil, failed
	}
	defer im.Close()
	var folders []string
	for _, dir := range im.File().Runpath() {
		folders = append(folders, strings.ReplaceAll(dir, "$ORIGIN", filepath.Dir(path)))
	}
	for _, name := range im.File().Needed() {
		if i := slices.IndexFunc(folders, func(dir string) bool { return root.Exists(filepath.Join(dir, name)) }); i >= 0 {
			libraries = append(libraries, filepath.Join(folders[i], name))
		} else if found, err := root.FindLibrary(name); err == nil && len(found) > 0 {
			libraries = append(libraries, found[0])
		}
	}
	return libraries, failed
}

// publish tells the programs where the table of a file is. If the kernel does not tell the file's key now, it is asked
// again when the file is looked at next. A file that was written to meanwhile is none that the table is of.
func (t *Tables) publish(f *os.File, made fileKey, of *table) error {
	page, err := unix.Mmap(int(f.Fd()), 0, pageSize, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Munmap(page) }()
	key, err := t.memory.FileKey(page)
	if err != nil || key == nil {
		return err
	}
	if now, ok := keyOf(f); !ok || now != made {
		delete(t.files, made)
		return nil
	}
	if err := t.memory.File(key, of.value()); err != nil {
		return err
	}
	of.told = true
	t.told++
	return nil
}

// value is what the programs are told of a table.
func (t *table) value() []byte {
	bias, ok := bias(t.segments)
	if !ok || t.length == 0 {
		return record.FileTable(0, 0, 0)
	}
	return record.FileTable(bias-t.low, t.at, t.length)
}

// bias is what an address as linked is more than the offset in the file, if that is the same for all code.
func bias(segments []objfile.Segment) (bias uint64, ok bool) {
	for i := range segments {
		s := &segments[i]
		if !s.Exec {
			continue
		}
		if ok && s.Addr-s.Offset != bias {
			return 0, false
		}
		bias, ok = s.Addr-s.Offset, true
	}
	return bias, ok
}

// maxFiles bounds the files that are remembered.
const maxFiles = 1 << 14

// virtual makes the table of the virtual library that the kernel maps into every process. Programs of 32
// bits have another, and are not walked by tables.
func (t *Tables) virtual() error {
	t.vdso = true
	maps, err := target.PID(os.Getpid()).Maps()
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(maps, func(m target.Mapping) bool { return m.Path == "[vdso]" })
	if i < 0 || maps[i].End-maps[i].Start > maxVirtual {
		return nil
	}
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil
	}
	defer mem.Close()
	b := make([]byte, maps[i].End-maps[i].Start)
	if _, err := mem.ReadAt(b, int64(maps[i].Start)); err != nil {
		return nil
	}
	elf, err := objfile.New("[vdso]", b)
	if err != nil {
		return nil
	}
	of := &table{}
	if _, err := t.place(of, elf, cfi.Open(elf)); err != nil {
		return err
	}
	return t.memory.File(record.VirtualKey(uint64(len(b))), of.value())
}

// maxVirtual bounds its size: it is two pages large.
const maxVirtual = 1 << 20

// place makes the table of a file and writes it: ruled is of how many bytes of code there are rules. A file without
// one leaves the table empty; an error is one of the memory.
func (t *Tables) place(of *table, f *objfile.File, frames unwind.Caller) (ruled uint64, err error) {
	of.segments = f.Segments()
	made, err := unwind.Compile(f, frames, t.rules)
	if err != nil || made.High-made.Low > math.MaxUint32 {
		return 0, nil
	}
	ruled = made.Ruled
	defer t.rules.Reuse(made)
	of.low, of.length = made.Low, uint32(made.High-made.Low)
	digest := made.Digest(&t.seeds)
	if at, ok := t.same[digest]; ok { // a copy, in another container perhaps
		of.at = at
		return ruled, nil
	}
	if err := t.writeRules(); err != nil {
		return ruled, err
	}
	if int(t.near)+made.Words(t.near) <= record.UnwindNearWords {
		of.at, err = t.placeNear(made)
	} else {
		of.at, err = t.placeBehind(made)
	}
	if err != nil {
		of.length = 0
		return ruled, err
	}
	t.same[digest] = of.at
	return ruled, nil
}

// placeNear writes a table into what programs reach at once.
func (t *Tables) placeNear(made *unwind.Table) (at uint32, err error) {
	at = t.near
	t.near, err = made.Place(at, func(at uint32, words []uint32) error { return t.memory.Near(at, bytesOf(words)) })
	return at, err
}

// placeBehind writes one into pieces behind.
func (t *Tables) placeBehind(made *unwind.Table) (at uint32, err error) {
	at = t.next
	if t.words == nil {
		t.words, t.piece = make([]uint32, (record.UnwindChunkSize+record.UnwindSlack)/4), at/unwind.ChunkWords
	}
	write := func() error { return t.memory.Words(t.piece, bytesOf(t.words)) }
	t.next, err = made.Place(at, func(at uint32, words []uint32) error {
		if piece := at / unwind.ChunkWords; piece != t.piece {
			if err := write(); err != nil {
				return err
			}
			clear(t.words)
			t.piece = piece
		}
		copy(t.words[at%unwind.ChunkWords:], words)
		return nil
	})
	if err == nil {
		err = write()
	}
	if err != nil { // what was in the piece before may be written, and is not at hand any more
		t.next, t.words = (t.piece+1)*unwind.ChunkWords, nil
	}
	return at, err
}

func bytesOf(words []uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 4*len(words))
}

// writeRules writes the rules if there are new ones.
func (t *Tables) writeRules() error {
	if t.known == t.rules.Len() {
		return nil
	}
	var b []byte
	for i := t.known; i < t.rules.Len(); i++ {
		b = binary.LittleEndian.AppendUint64(b, t.rules.At(uint16(i)).Word())
	}
	if err := t.memory.Rules(t.known, b); err != nil {
		return err
	}
	t.known = t.rules.Len()
	return nil
}
