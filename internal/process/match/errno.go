package match

import (
	"bytes"
	"encoding/hex"
	"errors"
	"path"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
)

// Programs call a function of the C library for the address of errno, which is thread-local in there. Where the library
// is loaded is told by a cell of the program with the address of one of its functions, and where the library has errno
// by a cell of its own.

// errnoVariable is the library's name for it.
const errnoVariable = "errno"

const errnoSize = 4

// threadLocal finds a thread-local variable of a file, or errno where the library has it that the file is linked with.
func (fs *files) threadLocal(b *binary, name string) (types.Place, uint64, error) {
	place, size, err := b.obj.ThreadLocal(name)
	if name == errnoVariable && errors.Is(err, objfile.ErrNoSymbol) {
		if other, ok := fs.errno(b); ok {
			return other, errnoSize, nil
		}
	}
	return place, size, err
}

// anchors are functions of glibc whose addresses the loader writes into programs and libraries: the code at their begin
// needs it (crt1.o), or their end (crtbegin.o).
var anchors = []string{"__libc_start_main", "__cxa_finalize"}

// errno is where the running thread has errno, in code of a file that is linked with glibc.
func (fs *files) errno(b *binary) (types.Place, bool) {
	var none types.Place
	if b.obj.Arch() == nil {
		return none, false
	}
	for _, file := range fs.neededBy(b) {
		if path.Base(file) != "libc.so.6" {
			continue
		}
		libc, err := fs.openName(file, file)
		if err != nil {
			return none, false
		}
		for _, name := range anchors {
			slot, ok := b.obj.Import(name)
			at, found := libc.obj.SymbolAddr(name)
			if ok && found {
				return errnoOf(libc.obj, append(objfile.Word(slot), types.PlaceOp{Code: types.PushConst, Arg: int64(at)},
					types.PlaceOp{Code: types.Sub}))
			}
		}
	}
	return none, false
}

// errnoOf is where the library has errno that is loaded where base says. Another build of it has it elsewhere: there
// the address is 0, where nothing can be read.
func errnoOf(libc *objfile.File, base []types.PlaceOp) (none types.Place, ok bool) {
	place, _, err := libc.ThreadLocal(errnoVariable)
	at, word, known := buildWord(libc)
	if err != nil || !known {
		return none, false
	}
	var ops []types.PlaceOp
	for _, op := range place.Ops {
		if op.Code == types.PushLoaded {
			ops = append(ops, base...)
			continue
		}
		ops = append(ops, op)
	}
	ops = append(ops, base...)
	ops = append(ops, types.PlaceOp{Code: types.PushConst, Arg: int64(at)}, types.PlaceOp{Code: types.Add},
		types.PlaceOp{Code: types.Load, Arg: 8}, types.PlaceOp{Code: types.PushConst, Arg: int64(word)},
		types.PlaceOp{Code: types.IfEq}, types.PlaceOp{Code: types.Mul})
	return types.Place{Kind: types.InMemory, Ops: ops}, true
}

// maxNotes is how far from its beginning a file's build ID is looked for.
const maxNotes = 1 << 14

// buildWord are the first eight bytes of a file's build ID, and the address that they are loaded at.
func buildWord(f *objfile.File) (at, word uint64, ok bool) {
	id, err := hex.DecodeString(f.BuildID())
	if err != nil || len(id) < 8 {
		return 0, 0, false
	}
	for _, s := range f.Segments() {
		begin := f.Bytes(s.Addr, int(min(s.FileSize, maxNotes)))
		if i := bytes.Index(begin, id); i >= 0 {
			for n := range 8 {
				word |= uint64(id[n]) << (8 * n) // as it is loaded
			}
			return s.Addr + uint64(i), word, true
		}
	}
	return 0, 0, false
}
