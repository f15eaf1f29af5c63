package golang

import (
	"encoding/binary"
	"strconv"
	"strings"
	"sync"

	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/runtimes/golang/pclntab"
)

// Program is a file with Go code. It may be used by several goroutines.
type Program struct {
	f     *objfile.File
	table *pclntab.Table
	minor int // of the Go version: 26 for 1.26

	mu            sync.Mutex
	types, etypes uint64 // where descriptions of types are
	text          uint64
	links         uint64 // offsets of types that no name leads to
	nlinks        int

	descs   map[uint64]*desc
	parts   int               // fields, parameters and methods read
	names   map[uint64]string // by description
	stubs   map[uint64]*types.Type
	full    map[uint64]*types.Type
	busy    map[uint64]bool
	indexed bool
	named   map[string]uint64   // descriptions of types by their full names; 0: there are several
	methods map[uint64]methodAt // by address of the function
}

// Offsets in runtime.moduledata (runtime/symtab.go; 1.21 to 1.26).
const (
	moduleText    = 176
	moduleTypes   = 296
	moduleETypes  = 304
	moduleLinks   = 352 // up to 1.25
	moduleLinks26 = 360
	moduleSize    = 512
)

// Limits of one program. The largest have some hundred thousand types.
const (
	maxTypes    = 1 << 20
	maxParts    = 1 << 22
	maxLinks    = 1 << 20
	maxNameLen  = 4096
	maxKept     = 1 << 17
	maxTypeSize = 1 << 40
)

// Open looks at a file. Nothing but its header is read before something is asked for.
func Open(f *objfile.File) *Program {
	p := &Program{f: f, table: pclntab.Of(f), minor: minorOf(pclntab.Version(f))}
	var err error
	defer objfile.Guard(&err)()
	p.reset()
	at := p.table.Module()
	if at == 0 || !f.Is64() {
		return p
	}
	p.text = f.PointerAt(at + moduleText)
	p.types, p.etypes = f.PointerAt(at+moduleTypes), f.PointerAt(at+moduleETypes)
	if p.types == 0 || p.etypes <= p.types || p.etypes-p.types > 1<<30 {
		p.types, p.etypes = 0, 0
	}
	links := uint64(moduleLinks)
	if p.minor >= 26 {
		links = moduleLinks26
	}
	n := p.word(at+links+8, 8)
	if n > 0 && n <= maxLinks && p.word(at+links+16, 8) == n {
		p.links, p.nlinks = f.PointerAt(at+links), int(n)
	}
	return p
}

func (p *Program) reset() {
	p.descs, p.names = map[uint64]*desc{}, map[uint64]string{}
	p.stubs, p.full, p.busy = map[uint64]*types.Type{}, map[uint64]*types.Type{}, map[uint64]bool{}
}

// Version is the minor version of Go that the program was built with, 0 if it is not told.
func (p *Program) Version() int { return p.minor }

// minorOf is the N of "go1.N.2".
func minorOf(version string) int {
	rest, ok := strings.CutPrefix(version, "go1.")
	if !ok {
		return 0
	}
	if end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		rest = rest[:end]
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return 0
	}
	return n
}

// word reads n bytes as a number; 0 where there is nothing.
func (p *Program) word(addr uint64, n int) uint64 {
	b := p.f.Bytes(addr, n)
	if len(b) < n {
		return 0
	}
	switch n {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// name reads a name (abi.Name): a byte of flags, the length, the text.
func (p *Program) name(addr uint64) (text string, flags byte, ok bool) {
	if addr == 0 {
		return "", 0, false
	}
	d := p.f.Bytes(addr, maxNameLen+4)
	if len(d) < 2 {
		return "", 0, false
	}
	n, width := binary.Uvarint(d[1:min(len(d), 11)])
	if width <= 0 || n > maxNameLen || 1+width+int(n) > len(d) {
		return "", 0, false
	}
	return string(d[1+width : 1+width+int(n)]), d[0], true
}

// nameOff reads a name by its offset from the start of the types.
func (p *Program) nameOff(off uint64) string {
	if off == 0 || off >= p.etypes-p.types {
		return ""
	}
	text, _, _ := p.name(p.types + off)
	return text
}

// typeOff is the address of a description by its offset; 0: there is none.
func (p *Program) typeOff(off uint64) uint64 {
	if off == 0 || off >= p.etypes-p.types {
		return 0
	}
	return p.types + off
}
