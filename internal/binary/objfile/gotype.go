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
	// One byte of flags, the length, the name (internal/abi/type.go, Name).
	const longest = 1024
	d := f.Bytes(base+off, longest)
	if len(d) < 2 {
		return "", false
	}
	n, width := binary.Uvarint(d[1:min(len(d), 11)])
	if width <= 0 || n > longest || 1+width+int(n) > len(d) {
		return "", false
	}
	name = string(d[1+width : 1+width+int(n)])
	if t[abiTFlag]&extraStar != 0 {
		name = strings.TrimPrefix(name, "*")
	}
	return name, true
}

// goTypes gives where the data of types begins and ends.
func (f *File) goTypes() (base, end uint64) {
	at := f.goModule()
	if at == 0 {
		return 0, 0
	}
	base, end = f.pointerAt(at+moduleTypes), f.pointerAt(at+moduleETypes)
	if base == 0 || end <= base || end-base > 1<<30 {
		return 0, 0
	}
	return base, end
}
