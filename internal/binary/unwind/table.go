package unwind

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"sort"
	"strings"
	"unsafe"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/cfi"
	"trocar/internal/binary/objfile"
	"trocar/internal/order"
)

// ErrNoTable says that a file tells nothing of its frames.
var ErrNoTable = errors.New("no call frame information")

const (
	blockShift = 8
	blockSize  = 1 << blockShift

	// ChunkWords is how many words lie in one piece where tables are put; the rows of a block are never parted.
	ChunkWords = 1 << 16
	// MaxWords is how many words all tables together can have: a word of the index has 24 bits for an address.
	MaxWords = 1 << 24

	maxSpan = 1 << 30 // bytes of code in one table
	maxRows = 1 << 22
)

// Table is the rules of a file's code.
type Table struct {
	Low, High uint64 // addresses as linked; Low is a multiple of 256
	Ruled     uint64 // how many bytes of code have a rule
	index     []uint32
	rows      []uint32 // low byte of the address, number of the rule from bit 8 on
}

// Caller is what tells of frames: *cfi.Table does.
type Caller interface {
	Callers(yield func(*cfi.Caller) bool) error
}

// Compile makes the table of a file: of its call frame information or, if that is Go's, of Go's table of functions.
func Compile(f *objfile.File, frames Caller, rules *Rules) (*Table, error) {
	cpu := f.Arch()
	if cpu == nil || cpu.LR >= 0 || cpu.FP < 0 {
		return nil, fmt.Errorf("%s: stacks of programs for this CPU are not walked by tables", f.Path())
	}
	b := builder{rules: rules}
	for _, s := range f.Segments() {
		if s.Exec && s.Addr+s.MemSiz > s.Addr {
			b.code = append(b.code, cfi.Range{Low: s.Addr, High: s.Addr + s.MemSiz})
		}
	}
	order.By(b.code, func(x, y cfi.Range) int { return cmp.Compare(x.Low, y.Low) })
	b.room(f)
	err := b.all(f, frames, cpu)
	if b.err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path(), b.err)
	}
	if b.empty() {
		if err == nil {
			err = ErrNoTable
		}
		return nil, fmt.Errorf("%s: %w", f.Path(), err)
	}
	return b.finish(), nil
}

// room makes room for what a file will have: compilers write some 5 bytes for each row. What is wrong costs time only.
func (b *builder) room(f *objfile.File) {
	code := uint64(0)
	for _, c := range b.code {
		code += c.High - c.Low
	}
	blocks := int(min(code, maxSpan) >> blockShift)
	rows := 0
	if s, ok := f.Section(".eh_frame"); ok {
		rows = int(min(s.Size/5, code, maxRows)) + blocks
	}
	b.t.index, b.t.rows = b.rules.index, b.rules.rows
	b.rules.index, b.rules.rows = nil, nil
	if cap(b.t.index) <= blocks {
		b.t.index = make([]uint32, 0, blocks+1)
	}
	if cap(b.t.rows) < rows {
		b.t.rows = make([]uint32, 0, rows)
	}
}

// all adds the rules of a file. C code that is linked to Go's has call frame information of its own; of Go's code, Go's
// table is the better one.
func (b *builder) all(f *objfile.File, frames Caller, cpu *abi.Arch) (err error) {
	type piece struct {
		low, high uint64
		rule      Rule
	}
	var others []piece
	opened, more := false, true
	until := func(low uint64) {
		for more && len(others) > 0 && others[0].low < low {
			p := &others[0]
			more, others = b.add(p.low, p.high, p.rule), others[1:]
		}
	}
	goes := f.StackDeltas(func(c *objfile.StackDelta) bool {
		if !opened {
			opened = true
			if _, ok := f.Section(".eh_frame"); ok {
				err = frames.Callers(func(c *cfi.Caller) bool {
					others = append(others, piece{c.Low, c.High, ruleOf(c, cpu)})
					return len(others) < maxRows
				})
			}
		}
		until(c.Low)
		more = more && b.add(c.Low, c.High, deltaRule(c))
		return more
	})
	if !goes || !opened {
		for _, s := range stubs(f) {
			others = append(others, piece{s.Low, s.High, Rule{Kind: Stack, Offset: 8}})
		}
		err = frames.Callers(func(c *cfi.Caller) bool {
			for more && len(others) > 0 && others[0].low < c.Low {
				p := &others[0]
				if more = b.add(p.low, min(p.high, c.Low), p.rule); p.high <= c.High {
					others = others[1:]
				} else {
					p.low = c.High
				}
			}
			more = more && b.add(c.Low, c.High, ruleOf(c, cpu))
			return more
		})
	}
	until(math.MaxUint64)
	return err
}

// stubs are the linker's jumps to functions whose addresses are found at the start, of which it makes no call frame
// information in static programs: they leave the stack as it was at the call.
func stubs(f *objfile.File) (list []cfi.Range) {
	for _, s := range f.Sections() {
		const executable = 4 // SHF_EXECINSTR
		if s.Flags&executable == 0 || !strings.HasPrefix(s.Name, ".plt") && s.Name != ".iplt" || s.Size > maxStubs {
			continue
		}
		if b := f.Bytes(s.Addr, int(s.Size)); uint64(len(b)) == s.Size && onlyJumps(b) {
			list = append(list, cfi.Range{Low: s.Addr, High: s.Addr + s.Size})
		}
	}
	order.ByKey(list, func(r *cfi.Range) uint64 { return r.Low }, nil)
	return list
}

// maxStubs bounds the bytes of them that are read.
const maxStubs = 1 << 20

// onlyJumps tells whether code is of nothing but `jmp *ADDRESS(%rip)`, endbr64 in front, and padding.
func onlyJumps(b []byte) bool {
	for len(b) > 0 {
		switch {
		case len(b) >= 6 && b[0] == 0xff && b[1] == 0x25:
			b = b[6:]
		case len(b) >= 4 && string(b[:4]) == "\xf3\x0f\x1e\xfa":
			b = b[4:]
		case b[0] == 0xf2 || fills(b[0]): // a jump may have the first one in front (bnd)
			b = b[1:]
		default:
			return false
		}
	}
	return true
}

// deltaRule: functions of Go that have a frame keep their caller's frame pointer below the return address.
func deltaRule(c *objfile.StackDelta) Rule {
	switch {
	case c.Stop:
		return Rule{Kind: Stop}
	case c.Frame:
		return Rule{Kind: FP}
	}
	r := Rule{Kind: Stack, Offset: int32(c.Delta) + 8}
	if c.Delta >= 8 {
		r.Saved = -16
	}
	return r
}

// builder makes a table of rules that come in the order of addresses.
type builder struct {
	rules *Rules
	code  []cfi.Range // executable addresses
	t     Table
	end   uint64 // of the last rule
	last  uint16 // the rule in force at end
	err   error
}

func (b *builder) empty() bool { return b.end == 0 }

// add appends the rule of some addresses; false: there is no room for more.
func (b *builder) add(low, high uint64, r Rule) bool {
	low = max(low, b.end)
	if low >= high || !b.executable(low, high) {
		return true
	}
	if b.empty() {
		b.t.Low = low &^ (blockSize - 1)
		b.end = b.t.Low
	}
	if high-b.t.Low > maxSpan {
		b.err = errors.New("its code is spread over more than 1 GiB")
		return false
	}
	if low > b.end {
		b.row(b.end, 0) // padding, or assembly without call frame information: the code itself is not read for that
	}
	if b.row(low, b.rules.Number(r)); r.Kind != None {
		b.t.Ruled += high - low
	}
	b.end = high
	if len(b.t.rows) > maxRows {
		b.err = fmt.Errorf("it has more than %d rows of call frame information", maxRows)
		return false
	}
	return true
}

// fills tells whether a byte is one of those that assemblers and linkers fill gaps with: zeros, int3, nop and its
// longer forms. No code has these only, since they cannot return, call or jump.
func fills(c byte) bool {
	switch c {
	case 0, 0xcc, 0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x40, 0x44, 0x80, 0x84:
		return true
	}
	return false
}

func (b *builder) executable(low, high uint64) bool {
	i := sort.Search(len(b.code), func(i int) bool { return b.code[i].High > low })
	return i < len(b.code) && b.code[i].Low <= low && high <= b.code[i].High
}

// row puts a rule in force from an address on.
func (b *builder) row(addr uint64, id uint16) {
	t := &b.t
	block := int((addr - t.Low) >> blockShift)
	for len(t.index) <= block { // those between have the rule that is in force
		t.index = append(t.index, uint32(len(t.rows)))
		t.rows = append(t.rows, uint32(b.last)<<8)
	}
	if id == b.last && addr != t.Low {
		return
	}
	word := uint32(addr&(blockSize-1)) | uint32(id)<<8
	if n := len(t.rows) - 1; t.rows[n]&0xff == word&0xff { // nothing is between them
		t.rows[n] = word
	} else {
		t.rows = append(t.rows, word)
	}
	b.last = id
}

func (b *builder) finish() *Table {
	b.row(b.end, 0)
	b.t.High = b.end
	return &b.t
}

// Find gives the number of the rule for an address.
func (t *Table) Find(addr uint64) (rule uint16) {
	if addr < t.Low || addr >= t.High {
		return 0
	}
	block := int((addr - t.Low) >> blockShift)
	rows := t.block(block)
	low := uint32(addr & (blockSize - 1))
	i := sort.Search(len(rows), func(i int) bool { return rows[i]&0xff > low })
	return uint16(rows[i-1] >> 8)
}

// block are the rows of a block.
func (t *Table) block(i int) []uint32 {
	end := len(t.rows)
	if i+1 < len(t.index) {
		end = int(t.index[i+1])
	}
	return t.rows[t.index[i]:end]
}

// Rows is how many rows the table has.
func (t *Table) Rows() int { return len(t.rows) }

// Seeds are what digests are made with: of one process, so that no file can be made to have another's.
type Seeds [2]maphash.Seed

// NewSeeds makes some.
func NewSeeds() Seeds { return Seeds{maphash.MakeSeed(), maphash.MakeSeed()} }

// Digest tells whether tables that were made with the same rules are the same, wherever they are placed.
func (t *Table) Digest(seeds *Seeds) (sum [2]uint64) {
	var head [24]byte
	binary.LittleEndian.PutUint64(head[:], t.Low)
	binary.LittleEndian.PutUint64(head[8:], t.High)
	binary.LittleEndian.PutUint64(head[16:], uint64(len(t.index)))
	for i := range seeds {
		var h maphash.Hash
		h.SetSeed(seeds[i])
		h.Write(head[:])
		for _, part := range [][]uint32{t.index, t.rows} {
			h.Write(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(part))), 4*len(part)))
		}
		sum[i] = h.Sum64()
	}
	return sum
}

// Words bounds the words that Place needs from an address on.
func (t *Table) Words(at uint32) int {
	n := len(t.index) + len(t.rows)
	// At each border of a chunk up to a block's rows may be left empty.
	return n + (blockSize-1)*((int(at)%ChunkWords+n)/ChunkWords+1)
}

// Place gives the words of the table from the address at on, in order, and the address behind them: put gets parts,
// none of which goes over the border of a chunk. The index comes first.
func (t *Table) Place(at uint32, put func(at uint32, words []uint32) error) (end uint32, err error) {
	if uint64(at)+uint64(t.Words(at)) > MaxWords {
		return at, fmt.Errorf("there is no room for a table of %d words", len(t.index)+len(t.rows))
	}
	next := at + uint32(len(t.index))
	fits := func(rows int) bool { return next%ChunkWords+uint32(rows) <= ChunkWords }
	border := func() uint32 { return (next + ChunkWords - 1) &^ (ChunkWords - 1) }
	part := make([]uint32, 0, min(len(t.index), 1<<11))
	for i := range t.index {
		rows := len(t.block(i))
		if !fits(rows) {
			next = border()
		}
		part = append(part, next|uint32(rows-1)<<24)
		next += uint32(rows)
		if at++; len(part) == cap(part) || at%ChunkWords == 0 || i == len(t.index)-1 {
			if err := put(at-uint32(len(part)), part); err != nil {
				return at, err
			}
			part = part[:0]
		}
	}
	next = at
	from := 0 // rows from there on were not given yet
	for i := range t.index {
		rows := t.block(i)
		if begin := int(t.index[i]); !fits(begin - from + len(rows)) {
			if err := put(next, t.rows[from:begin]); err != nil {
				return at, err
			}
			next += uint32(begin - from)
			next, from = border(), begin
		}
	}
	err = put(next, t.rows[from:])
	return next + uint32(len(t.rows)-from), err
}
