package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
)

// image is a program as it is loaded: where its texts are, as far as that does not depend on where it is loaded.
type image struct {
	parts []part
	texts map[string]map[uint64]bool // of each text, where it is in a page
}

type part struct {
	addr uint64
	data []byte
}

// pageSize is what programs are moved by when they are loaded.
const pageSize = 4096

func openImage(path string) (*image, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := &image{texts: map[string]map[uint64]bool{}}
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		data, err := io.ReadAll(p.Open())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		in.parts = append(in.parts, part{p.Vaddr, data})
	}
	return in, nil
}

// has tells whether a C string may be at an address: where it is in the page.
func (in *image) has(addr json.Number, text string) bool {
	n, ok := integerOf(addr.String())
	if !ok || !n.IsUint64() {
		return false
	}
	at, ok := in.texts[text]
	if !ok {
		at = map[uint64]bool{}
		for _, p := range in.parts {
			for off := 0; ; off++ {
				i := bytes.Index(p.data[off:], append([]byte(text), 0))
				if i < 0 {
					break
				}
				off += i
				at[(p.addr+uint64(off))%pageSize] = true
			}
		}
		in.texts[text] = at
	}
	return n.Uint64() != 0 && at[n.Uint64()%pageSize]
}
