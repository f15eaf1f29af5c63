package golang

import "strings"

// kind is a reflect.Kind.
type kind uint8

const (
	kindBool    kind = 1
	kindInt     kind = 2
	kindUint    kind = 7
	kindUint8   kind = 8
	kindUintptr kind = 12
	kindFloat32 kind = 13
	kindFloat64 kind = 14
	kindComplex kind = 15 // and 16
	kindArray   kind = 17
	kindChan    kind = 18
	kindFunc    kind = 19
	kindIface   kind = 20
	kindMap     kind = 21
	kindPointer kind = 22
	kindSlice   kind = 23
	kindString  kind = 24
	kindStruct  kind = 25
	kindUnsafe  kind = 26
)

// desc is a type as the program describes it (abi.Type and what follows it). Types are told by the addresses of their
// descriptions.
type desc struct {
	addr  uint64
	kind  kind
	size  int
	align int
	named bool
	str   string // its name with the last part of the package's path
	pkg   string // path of its package, of named types

	elem, key uint64 // elem: of array, chan, map, pointer, slice
	table     uint64 // map: what it is made of, a group of slots or a bucket
	flags     uint64 // map
	dir       int    // chan
	length    int    // array
	fields    []fieldDesc
	in, out   []uint64 // func
	variadic  bool
	nmethods  int // interface
	methods   []methodDesc
}

type fieldDesc struct {
	name     string
	typ      uint64
	offset   int
	embedded bool
}

// methodDesc is an entry of a type's table of methods.
type methodDesc struct {
	name string
	typ  uint64 // of the signature without receiver; 0: not known
	fn   uint64 // address of the function that has the type itself as its receiver; 0: it is not in the program
}

// Offsets in abi.Type and what follows it by kind.
const (
	typeSize  = 48
	typeFlags = 20
	typeAlign = 21
	typeKind  = 23
	typeStr   = 40

	flagUncommon = 1 << 0
	flagStar     = 1 << 1
	flagNamed    = 1 << 2

	fieldEmbedded = 1 << 3 // of a name's flags
	variadicBit   = 1 << 15

	uncommonSize = 16
	methodSize   = 16
	fieldSize    = 24

	maxFields  = 4096
	maxParams  = 1024
	maxMethods = 8192
)

// sizes of descriptions by kind, behind which the package and methods of a type follow.
func (p *Program) descSize(k kind, swiss bool) uint64 {
	switch k {
	case kindArray:
		return 72
	case kindChan:
		return 64
	case kindFunc, kindPointer, kindSlice:
		return 56
	case kindIface, kindStruct:
		return 80
	case kindMap:
		if swiss {
			return 112
		}
		return 88
	}
	return typeSize
}

// desc reads the description at an address; nil if there is none that makes sense.
func (p *Program) desc(addr uint64) *desc {
	if d, ok := p.descs[addr]; ok {
		return d
	}
	if len(p.descs) >= maxTypes {
		return nil
	}
	d := p.read(addr)
	p.descs[addr] = d
	return d
}

func (p *Program) read(addr uint64) *desc {
	if addr < p.types || addr >= p.etypes || p.etypes-addr < typeSize {
		return nil
	}
	b := p.f.Bytes(addr, typeSize)
	if len(b) < typeSize {
		return nil
	}
	size := p.word(addr, 8)
	flags := b[typeFlags]
	d := &desc{
		addr: addr, kind: kind(b[typeKind] & 31), size: int(size), align: int(b[typeAlign]),
		named: flags&flagNamed != 0,
	}
	if size > maxTypeSize || d.kind == 0 || d.kind > kindUnsafe || d.align == 0 || d.align > 64 ||
		d.align&(d.align-1) != 0 {
		return nil
	}
	d.str = p.nameOff(p.word(addr+typeStr, 4))
	if flags&flagStar != 0 {
		d.str = strings.TrimPrefix(d.str, "*")
	}
	if d.str == "" || !p.readKind(d, flags) {
		return nil
	}
	if flags&flagUncommon != 0 {
		p.readUncommon(d, addr+p.descSize(d.kind, p.swiss(d)))
	}
	return d
}

// readKind reads what follows by kind.
func (p *Program) readKind(d *desc, flags byte) bool {
	at := d.addr + typeSize
	ptr := p.f.PointerAt
	switch d.kind {
	case kindArray:
		n := p.word(at+16, 8)
		d.elem = ptr(at)
		if n > maxTypeSize {
			return false
		}
		d.length = int(n)
	case kindChan:
		d.elem, d.dir = ptr(at), int(p.word(at+8, 8)&3)
	case kindPointer, kindSlice:
		d.elem = ptr(at)
	case kindMap:
		d.key, d.elem, d.table = ptr(at), ptr(at+8), ptr(at+16)
		d.flags = p.word(at+56, 4)
		if !p.swiss(d) {
			d.flags = p.word(at+36, 4)
		}
	case kindIface:
		d.nmethods = int(min(p.word(at+16, 8), maxMethods))
	case kindStruct:
		from, n := ptr(at+8), p.word(at+16, 8)
		if p.parts += int(min(n, maxParts)); n > maxFields || p.parts > maxParts {
			return false
		}
		for i := range n {
			f := from + i*fieldSize
			name, nameFlags, ok := p.name(ptr(f))
			off := p.word(f+16, 8)
			if !ok || off > uint64(d.size) {
				return false
			}
			d.fields = append(d.fields, fieldDesc{
				name: name, typ: ptr(f + 8), offset: int(off),
				embedded: nameFlags&fieldEmbedded != 0,
			})
		}
	case kindFunc:
		in, out := p.word(at, 2), p.word(at+2, 2)
		d.variadic = out&variadicBit != 0
		out &^= variadicBit
		if p.parts += int(in + out); in > maxParams || out > maxParams || p.parts > maxParts {
			return false
		}
		from := d.addr + p.descSize(kindFunc, false)
		if flags&flagUncommon != 0 {
			from += uncommonSize
		}
		for i := range in + out {
			t := ptr(from + 8*i)
			if i < in {
				d.in = append(d.in, t)
			} else {
				d.out = append(d.out, t)
			}
		}
	}
	return true
}

// swiss tells whether a map is of Go 1.24's kind, whose groups begin with control bytes, or has buckets.
func (p *Program) swiss(d *desc) bool {
	if d.kind != kindMap {
		return false
	}
	b := p.f.Bytes(d.table, typeSize)
	if len(b) < typeSize || kind(b[typeKind]&31) != kindStruct {
		return p.minor >= 24
	}
	first := p.f.PointerAt(d.table + typeSize + 8)
	name, _, _ := p.name(p.f.PointerAt(first))
	return name == "ctrl"
}

// readUncommon reads the path of the package and the methods.
func (p *Program) readUncommon(d *desc, at uint64) {
	if pkg := p.word(at, 4); d.named {
		d.pkg = p.nameOff(pkg)
	}
	n, off := p.word(at+4, 2), p.word(at+8, 4)
	if p.parts += int(n); n > maxMethods || n > 0 && off == 0 || p.parts > maxParts {
		return
	}
	for i := range n {
		m := at + off + i*methodSize
		b := p.f.Bytes(m, methodSize)
		if len(b) < methodSize {
			return
		}
		name := p.nameOff(p.word(m, 4))
		if name == "" {
			return
		}
		md := methodDesc{name: name, typ: p.typeOff(p.word(m+4, 4))}
		// -1 and 0 stand for methods that are not in the program.
		if fn := uint32(p.word(m+12, 4)); fn != 0 && fn != 1<<32-1 && p.text != 0 {
			md.fn = p.text + uint64(fn)
		}
		d.methods = append(d.methods, md)
	}
}
