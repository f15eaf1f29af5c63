package pclntab

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"

	"trocar/internal/binary/objfile"
)

// imageOf is a file whose code is all of the data.
func imageOf(t *testing.T, data []byte) *objfile.File {
	t.Helper()
	var b bytes.Buffer
	head := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	copy(head.Ident[:], "\x7fELF\x02\x01\x01")
	size := uint64(len(data))
	for _, v := range []any{
		head, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: 120, Filesz: size, Memsz: size},
	} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	f, err := objfile.New("image", append(b.Bytes(), data...))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// FuzzTable reads anything as a table of functions.
func FuzzTable(f *testing.F) {
	for _, magic := range []uint32{0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1} {
		head := binary.LittleEndian.AppendUint32(nil, magic)
		head = append(head, 0, 0, 1, 8)
		for _, v := range []uint64{2, 0, 0x1000, 72, 90, 90, 90, 90} {
			head = binary.LittleEndian.AppendUint64(head, v)
		}
		f.Add(append(head, make([]byte, 64)...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		table := parse(imageOf(t, data), data)
		if table == nil {
			return
		}
		for i := range table.n {
			if entry, _, name, ok := table.At(i); ok {
				table.name(uint64(name))
				table.Code(entry)
				table.Func(entry)
				table.Frames(entry)
			}
			if i == 100 {
				break
			}
		}
		table.Inlined("f")
		table.Stack(func(*objfile.StackDelta) bool { return true })
	})
}
