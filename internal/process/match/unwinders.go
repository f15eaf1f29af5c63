package match

import (
	"context"
	"path"
	"slices"
	"strings"

	"trocar/internal/binary/code"
	"trocar/internal/binary/objfile"
)

// Unwinder is a function that unwinds the stack for exceptions and panics: it begins with the frame that throws on the
// stack, and ends by going on in another frame, in place of a return.
type Unwinder struct {
	Path  string // of its file, in the root of the process
	Name  string
	First bool // it is where an exception is thrown, not one where that goes on behind a destructor
	// Forced: it unwinds for another reason, such as the end of a thread.
	Forced bool
	// Lands are the distances from its entry of the jumps with which it goes on in another frame, Returns those of return
	// instructions, which take the address of that frame's code off its stack.
	Lands, Returns []uint64
}

// unwinders are the functions of the C++ ABI for exception handling (level I), which other languages use as well.
var unwinders = []struct {
	name          string
	first, forced bool
}{
	{"_Unwind_RaiseException", true, false},
	{"_Unwind_Resume_or_Rethrow", true, false},
	{"_Unwind_Resume", false, false},
	{"_Unwind_ForcedUnwind", false, true},
}

// unwinderLibrary is the name of GCC's library that has them.
const unwinderLibrary = "libgcc_s.so"

// Unwinders finds these functions in what a process runs or, without a process, in what the programs and libraries at
// paths will load. Where they end must be known.
func Unwinders(ctx context.Context, opts Options, paths []string) (out []Unwinder) {
	fs := newFiles(ctx, opts)
	defer fs.close()
	m := &matcher{ctx: ctx, opts: opts, files: fs}
	isUnwinder := func(name string) bool { return strings.HasPrefix(path.Base(name), unwinderLibrary) }
	files := fs.run(paths, isUnwinder)
	for i, b := range files {
		if base := path.Base(b.name); strings.Contains(base, ".so") && !strings.HasPrefix(base, unwinderLibrary) && i > 0 {
			continue
		}
		for _, u := range unwinders {
			addr, ok := b.obj.SymbolAddr(u.name)
			if !ok || ctx.Err() != nil {
				continue
			}
			un := m.unwinder(b, addr)
			if un == nil && u.forced {
				un = &Unwinder{} // that it begins is all that is looked at
			}
			if un != nil {
				un.Path, un.Name, un.First, un.Forced = fs.root.Path(b.path), u.name, u.first, u.forced
				out = append(out, *un)
			}
		}
	}
	return out
}

// unwinder looks at the function at an address; nil: where it goes on in another frame is not known, or must not be
// probed.
func (m *matcher) unwinder(b *binary, addr uint64) *Unwinder {
	sym, ok := b.obj.Lookup(addr)
	if !ok || sym.Size == 0 || sym.Size > code.MaxFunction {
		return nil
	}
	body, err := readCode(b.obj, addr, int(sym.Size))
	if err != nil {
		return nil
	}
	un := &Unwinder{}
	var known bool
	if un.Lands, un.Returns, known = code.Landings(b.obj.Arch(), body); !known {
		return nil
	}
	for _, off := range slices.Concat(un.Lands, un.Returns) {
		if m.hazardAt(b.obj, addr+off) != nil {
			return nil
		}
	}
	return un
}

func readCode(obj *objfile.File, addr uint64, n int) (body []byte, err error) {
	defer objfile.Guard(&err)()
	return obj.Bytes(addr, n), nil
}
