package objfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

var errXZ = errors.New("damaged xz data")

// unxz unpacks an .xz file of at most limit bytes. The container is read here and not by the xz package, because that
// allocates whatever dictionary size the data asks for (up to 4 GB); ours is bounded by the limit. Checks of the
// content are not verified: a symbol table that was changed on purpose has right checks, too.
//
// Format: https://tukaani.org/xz/xz-file-format.txt, sections 2 and 3.
func unxz(data []byte, limit int) ([]byte, error) {
	if len(data) < 12 || string(data[:6]) != "\xfd7zXZ\x00" || data[6] != 0 || data[7] > 15 {
		return nil, errXZ
	}
	checkSize := [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}[data[7]]
	var out bytes.Buffer
	at := 12
	for at < len(data) && data[at] != 0 { // a zero byte begins the index
		size := (int(data[at]) + 1) * 4
		if at+size > len(data) {
			return nil, errXZ
		}
		dict, err := blockHeader(data[at : at+size])
		if err != nil {
			return nil, err
		}
		at += size
		body := bytes.NewReader(data[at:])
		r, err := lzma.Reader2Config{DictCap: max(lzma.MinDictCap, min(dict, limit))}.NewReader2(body)
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(&out, io.LimitReader(r, int64(limit-out.Len())+1))
		if err != nil {
			return nil, err
		}
		if out.Len() > limit {
			return nil, fmt.Errorf("more than %d bytes packed", limit)
		}
		used := len(data) - at - body.Len()
		at += (used+3)&^3 + checkSize
	}
	return out.Bytes(), nil
}

// blockHeader gives the dictionary size of a block that has LZMA2 as its only filter.
func blockHeader(h []byte) (dict int, err error) {
	n := len(h) - 4
	if crc32.ChecksumIEEE(h[:n]) != binary.LittleEndian.Uint32(h[n:]) {
		return 0, errXZ
	}
	flags, b := h[1], h[2:n]
	if flags&0x3f != 0 {
		return 0, fmt.Errorf("%w: filters other than LZMA2", errXZ)
	}
	for _, bit := range []byte{0x40, 0x80} { // compressed and uncompressed size, not needed
		if flags&bit != 0 {
			_, l := binary.Uvarint(b)
			if l <= 0 {
				return 0, errXZ
			}
			b = b[l:]
		}
	}
	if len(b) < 3 || b[0] != 0x21 || b[1] != 1 || b[2] > 40 {
		return 0, fmt.Errorf("%w: filters other than LZMA2", errXZ)
	}
	if b[2] == 40 {
		return 1<<32 - 1, nil
	}
	return (2 | int(b[2]&1)) << (b[2]/2 + 11), nil
}
