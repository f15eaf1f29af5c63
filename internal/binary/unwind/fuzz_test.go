package unwind

import (
	"bytes"
	"testing"
	"time"

	"trocar/internal/binary/cfi"
	"trocar/internal/binary/objfile"
)

type sections struct {
	*objfile.File
	frame []byte
}

func (s sections) Data(name string) ([]byte, error) {
	if name == ".eh_frame" || name == ".debug_frame" {
		return s.frame, nil
	}
	return nil, objfile.ErrNoSection
}

// FuzzTable makes tables of damaged call frame information.
func FuzzTable(f *testing.F) {
	file, err := objfile.Open(build(f, "gcc", "-O2", "testdata/realign.c"))
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	b, err := file.Data(".eh_frame")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Clone(b), uint16(0))
	f.Fuzz(func(t *testing.T, frame []byte, at uint16) {
		start := time.Now()
		rules := NewRules()
		table, err := Compile(file, cfi.New(sections{file, frame}, file.Arch(), nil), rules)
		if err == nil {
			words := make([]uint32, 2*ChunkWords)
			end, err := table.Place(uint32(at), into(t, words))
			if err != nil || int(end)-int(at) > table.Words(uint32(at)) {
				t.Errorf("%d words, said to be at most %d: %v", end-uint32(at), table.Words(uint32(at)), err)
			}
			for addr := table.Low - 2; addr < table.High+2; addr++ {
				if id := table.Find(addr); int(id) >= rules.Len() {
					t.Fatalf("%#x: rule %d of %d", addr, id, rules.Len())
				}
			}
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%d bytes took %v", len(frame), d)
		}
	})
}
