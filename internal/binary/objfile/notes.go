package objfile

import (
	"bytes"
	"strings"
)

// note is one ELF note; desc is a view.
type note struct {
	name string
	typ  uint32
	desc []byte
}

// maxNotes bounds the number of notes: a large program has some thousand USDT probes.
const maxNotes = 1 << 18

// region is a piece of the image.
type region struct{ off, size, align uint64 }

// maxRegions bounds the number of note regions; more than a handful are not seen.
const maxRegions = 64

// allNotes reads the notes when they are first asked for.
func (f *File) allNotes() []note {
	return f.notes.get(func(notes *[]note) {
		for i, r := range f.noteRegions {
			// A section repeats (a part of) a program header's region, except where it is not loaded.
			seen := false
			for _, q := range f.noteRegions[:i] {
				seen = seen || r.off >= q.off && r.off-q.off < q.size && r.size <= q.size-(r.off-q.off)
			}
			if !seen {
				*notes = f.readNotes(*notes, r)
			}
		}
	})
}

func (f *File) readNotes(notes []note, r region) []note {
	data := f.slice(r.off, r.size)
	// Only notes of GNU properties are aligned to 8; everything else to 4 whatever the header says.
	align := uint64(4)
	if r.align == 8 {
		align = 8
	}
	pad := func(n uint64) uint64 { return (n + align - 1) &^ (align - 1) }
	for len(data) >= 12 && len(notes) < maxNotes {
		nameLen, descLen, typ := u32(data, 0), u32(data, 4), u32(data, 8)
		descAt := pad(12 + nameLen)
		end := descAt + descLen
		if end > uint64(len(data)) {
			break
		}
		name := data[12 : 12+nameLen]
		if i := bytes.IndexByte(name, 0); i >= 0 {
			name = name[:i]
		}
		if len(name) < 32 {
			notes = append(notes, note{noteName(name), uint32(typ), data[descAt:end]})
		}
		data = data[min(pad(end), uint64(len(data))):]
	}
	return notes
}

// noteName is the owner's name, without an allocation for the usual ones.
func noteName(b []byte) string {
	switch string(b) {
	case "GNU":
		return "GNU"
	case "stapsdt":
		return "stapsdt"
	}
	return string(b)
}

// USDT is one statically defined probe: one place with its operands. The same probe may be at several places.
type USDT struct {
	Provider, Name string
	Addr           uint64 // of the instruction
	Semaphore      uint64 // address of the counter that enables it, 0: none
	Args           string // operands as assembler text, "-4@%esi 8@$5"
}

// USDTs are the statically defined probes of the file, in its order (notes of version 3, SystemTap's sys/sdt.h).
func (f *File) USDTs() (probes []USDT, err error) {
	defer Guard(&err)()
	base, _ := f.Section(".stapsdt.base")
	word := 4
	if f.is64 {
		word = 8
	}
	for _, n := range f.allNotes() {
		if n.typ != 3 || n.name != "stapsdt" || len(n.desc) < 3*word {
			continue
		}
		var v [3]uint64
		for i := range v {
			if f.is64 {
				v[i] = u64(n.desc, 8*i)
			} else {
				v[i] = u32(n.desc, 4*i)
			}
		}
		parts := bytes.SplitN(n.desc[3*word:], []byte{0}, 4)
		if len(parts) < 4 {
			continue
		}
		p := USDT{
			Provider: string(parts[0]), Name: string(parts[1]), Args: strings.TrimSpace(string(parts[2])),
			Addr: v[0], Semaphore: v[2],
		}
		// Prelinking moves the file after the note was written; the base section moves along and tells by how much.
		if v[1] != 0 && base.Addr != 0 {
			p.Addr += base.Addr - v[1]
			if p.Semaphore != 0 {
				p.Semaphore += base.Addr - v[1]
			}
		}
		probes = append(probes, p)
	}
	return probes, nil
}
