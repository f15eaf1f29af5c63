package objfile

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"trocar/internal/binary/abi"
)

// TestSparse opens a file of a terabyte that takes no room: all of it is said to be symbols.
func TestSparse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sparse")
	const size = 1 << 40
	h := make([]byte, 64+3*64+56+16)
	le := binary.LittleEndian
	copy(h, "\x7fELF\x02\x01\x01")
	le.PutUint16(h[16:], TypeDyn)
	le.PutUint16(h[18:], abi.AMD64.ELF.Machine)
	le.PutUint64(h[32:], 256) // program headers
	le.PutUint64(h[40:], 64)  // section headers
	le.PutUint16(h[54:], 56)
	le.PutUint16(h[56:], 1)
	le.PutUint16(h[58:], 64)
	le.PutUint16(h[60:], 3)
	le.PutUint16(h[62:], 2)
	sec := h[128:]
	le.PutUint32(sec, 1)
	le.PutUint32(sec[4:], 2)     // SHT_SYMTAB
	le.PutUint64(sec[24:], 4096) // offset
	le.PutUint64(sec[32:], size-4096)
	le.PutUint32(sec[40:], 1)
	names := h[192:]
	le.PutUint32(names[4:], 3)
	le.PutUint64(names[24:], 312)
	le.PutUint64(names[32:], 16)
	copy(h[312:], "\x00.symtab")
	seg := h[256:]
	le.PutUint32(seg, 1)
	le.PutUint32(seg[4:], 5)
	le.PutUint64(seg[32:], size)
	le.PutUint64(seg[40:], size)
	if err := os.WriteFile(path, h, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	f := open(t, path)
	if n := f.table(".symtab"); n.len() != maxSymbols {
		t.Errorf("%d symbols", n.len())
	}
	f.Match(NewQuery("main", ""))
	f.Lookup(8192)
	f.BuildID()
	// What is not bounded takes hours.
	if d := time.Since(start); d > 3*time.Minute {
		t.Errorf("took %v", d)
	}
}
