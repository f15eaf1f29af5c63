package objfile

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// packing makes a file of these sections, each of so many zero bytes, packed.
func packing(t *testing.T, sizes map[string]int) []byte {
	t.Helper()
	le := binary.LittleEndian
	out := make([]byte, 64)
	names := []byte{0}
	heads := make([]byte, 64)
	head := func(name string, typ uint32, flags uint64, data []byte) {
		h := make([]byte, 64)
		le.PutUint32(h, uint32(len(names)))
		names = append(append(names, name...), 0)
		le.PutUint32(h[4:], typ)
		le.PutUint64(h[8:], flags)
		le.PutUint64(h[24:], uint64(len(out)))
		le.PutUint64(h[32:], uint64(len(data)))
		heads = append(heads, h...)
		out = append(out, data...)
	}
	for name, size := range sizes {
		var b bytes.Buffer
		chdr := make([]byte, 24)
		le.PutUint32(chdr, chZlib)
		le.PutUint64(chdr[8:], uint64(size))
		b.Write(chdr)
		z := zlib.NewWriter(&b)
		z.Write(make([]byte, size))
		z.Close()
		head(name, 1, shfCompressed, b.Bytes())
	}
	last := len(heads) / 64
	head(".shstrtab", 3, 0, append(append([]byte(nil), names...), ".shstrtab\x00"...))
	le.PutUint64(heads[64*last+32:], uint64(len(names)))
	at := len(out)
	out = append(out, heads...)
	copy(out, "\x7fELF\x02\x01\x01")
	le.PutUint16(out[16:], TypeDyn)
	le.PutUint16(out[18:], 62)
	le.PutUint64(out[40:], uint64(at))
	le.PutUint16(out[54:], 56)
	le.PutUint16(out[58:], 64)
	le.PutUint16(out[60:], uint16(last+1))
	le.PutUint16(out[62:], uint16(last))
	return out
}

// TestRoom: what files unpack together is bounded, is unpacked once, and is given back.
func TestRoom(t *testing.T) {
	const size = 12 << 20
	data := packing(t, map[string]int{".a": size})
	var room Room
	var files []*File
	open := func() *File {
		f, err := New("f", data)
		if err != nil {
			t.Fatal(err)
		}
		f.Share(&room)
		return f
	}
	for range maxUnpacked / size {
		f := open()
		for range 2 {
			b, err := f.Data(".a")
			if err != nil || len(b) != size {
				t.Fatalf("%d bytes, %v, with %d of room in use", len(b), err, room.used.Load())
			}
		}
		files = append(files, f)
	}
	f := open()
	if _, err := f.Data(".a"); err == nil || !strings.Contains(err.Error(), "objcopy") {
		t.Errorf("there is room for more: %v", err)
	}
	files[0].Close()
	if b, err := f.Data(".a"); err != nil || len(b) != size {
		t.Errorf("no room after a file was closed: %v", err)
	}
	f.Close()
	for _, f := range files[1:] {
		f.Close()
	}
	if used := room.used.Load(); used != 0 {
		t.Errorf("%d bytes are not given back", used)
	}
}

// TestUnpackedWrongly: what is not as long as it says takes no room.
func TestUnpackedWrongly(t *testing.T) {
	for _, promised := range []uint64{999, 1001, 4 << 20, 1 << 60} {
		f, err := New("f", packing(t, map[string]int{".a": 1000}))
		if err != nil {
			t.Fatal(err)
		}
		binary.LittleEndian.PutUint64(f.data[64+8:], promised)
		if b, err := f.Data(".a"); err == nil || errors.Is(err, ErrNoSection) {
			t.Errorf("%d bytes promised: %d, %v", promised, len(b), err)
		}
		if used := f.room.used.Load(); used != 0 {
			t.Errorf("%d bytes promised: %d in use", promised, used)
		}
		f.Close()
	}
}
