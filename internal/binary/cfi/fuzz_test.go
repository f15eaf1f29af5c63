package cfi

import (
	"bytes"
	"testing"
	"time"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/objfile"
	"trocar/internal/need"
)

type fakeSections map[string][]byte

func (s fakeSections) Data(name string) ([]byte, error) {
	if b, ok := s[name]; ok {
		return b, nil
	}
	return nil, objfile.ErrNoSection
}

func (s fakeSections) Section(name string) (objfile.Section, bool) {
	b, ok := s[name]
	return objfile.Section{Name: name, Type: 1, Size: uint64(len(b)), Addr: 0x1000}, ok
}

// FuzzFrames reads damaged call frame information.
func FuzzFrames(f *testing.F) {
	for _, level := range []string{"-O0", "-O2"} {
		if ok, err := need.HasTool("gcc"); err != nil {
			f.Fatal(err)
		} else if !ok {
			break // without seeds
		}
		file, err := objfile.Open(build(f, "gcc", level, testdata+"plain.c"))
		if err != nil {
			f.Fatal(err)
		}
		b, _ := file.Data(".eh_frame")
		h, _ := file.Data(".eh_frame_hdr")
		f.Add(bytes.Clone(b), bytes.Clone(h), uint64(0x1180))
		file.Close()
	}
	f.Fuzz(func(t *testing.T, frame, hdr []byte, pc uint64) {
		start := time.Now()
		s := fakeSections{".eh_frame": frame, ".eh_frame_hdr": hdr, ".debug_frame": frame}
		for _, m := range []*abi.Arch{abi.AMD64, abi.ARM64} {
			frames := New(s, m, func() Sections { return s })
			frames.At(pc)
			if r, ok := frames.Function(pc); ok && !r.Contains(pc) {
				t.Errorf("%#x is not in %#x", pc, r)
			}
			n := 0
			frames.Each(func(r *Row) bool {
				if r.Low >= r.High {
					t.Errorf("row from %#x to %#x", r.Low, r.High)
				}
				frames.At(r.Low)
				n++
				return n < 1000
			})
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%d bytes took %v", len(frame), d)
		}
	})
}
