package objfile

import (
	"encoding/binary"
	"strings"
)

// Offsets in runtime.moduledata (Go 1.21 to 1.26) and abi.Type.
const (
	moduleTypes  = 296 // where type data begins
	moduleETypes = 304

	abiTypeSize = 48
	abiTFlag    = 20
	abiStr      = 40
	extraStar   = 1 << 1 // the name has a '*' in front that is not meant (abi.TFlagExtraStar)
)

// GoTypeName is the name of the Go type whose description (abi.Type) is at an address of the file, as Go writes it with
// the last part of the package's path.
func (f *File) GoTypeName(addr uint64) (name string, ok bool) {
	var err error
	defer Guard(&err)()
	base, end := f.goTypes()
	if base == 0 || addr < base || addr >= end || end-addr < abiTypeSize {
		return "", false
	}
	t := f.Bytes(addr, abiTypeSize)
	if len(t) < abiTypeSize {
		return "", false
	}
	off := uint64(binary.LittleEndian.Uint32(t[abiStr:]))
	if off >= end-base {
		return "", false
	}
	if name, _, ok = f.goName(base + off); !ok {
		return "", false
	}
	if t[abiTFlag]&extraStar != 0 {
		name = strings.TrimPrefix(name, "*")
	}
	return name, true
}

// goName reads a name: one byte of flags, the length, the name (internal/abi/type.go, Name).
func (f *File) goName(addr uint64) (name string, flags byte, ok bool) {
	const longest = 1024
	d := f.Bytes(addr, longest)
	if len(d) < 2 {
		return "", 0, false
	}
	n, width := binary.Uvarint(d[1:min(len(d), 11)])
	if width <= 0 || n > longest || 1+width+int(n) > len(d) {
		return "", 0, false
	}
	return string(d[1+width : 1+width+int(n)]), d[0], true
}

// typeRange is where the data of types begins and ends.
type typeRange struct{ base, end uint64 }

// goTypes gives where the data of types begins and ends.
func (f *File) goTypes() (base, end uint64) {
	r := f.gotypes.get(func(r *typeRange) {
		at := f.goModule()
		if at == 0 {
			return
		}
		base, end := f.PointerAt(at+moduleTypes), f.PointerAt(at+moduleETypes)
		if base == 0 || end <= base || end-base > 1<<30 {
			return
		}
		*r = typeRange{base, end}
	})
	return r.base, r.end
}
