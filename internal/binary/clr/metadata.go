package clr

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"sync"
)

// table is the number of a table of the metadata (ECMA-335, II.22).
type table uint8

// Tables that are read.
const (
	tModule       table = 0x00
	tTypeRef      table = 0x01
	tTypeDef      table = 0x02
	tFieldPtr     table = 0x03
	tField        table = 0x04
	tMethodPtr    table = 0x05
	tMethodDef    table = 0x06
	tParamPtr     table = 0x07
	tParam        table = 0x08
	tMemberRef    table = 0x0a
	tConstant     table = 0x0b
	tEventPtr     table = 0x13
	tEvent        table = 0x14
	tPropertyPtr  table = 0x16
	tProperty     table = 0x17
	tModuleRef    table = 0x1a
	tTypeSpec     table = 0x1b
	tAssembly     table = 0x20
	tAssemblyRef  table = 0x23
	tFile         table = 0x26
	tExportedType table = 0x27
	tNestedClass  table = 0x29
	tGenericParam table = 0x2a
	tMethodSpec   table = 0x2b
	noTable       table = 0xff
)

// Coded indexes: the lowest bits tell the table.
var (
	typeDefOrRef    = []table{tTypeDef, tTypeRef, tTypeSpec}
	hasConstant     = []table{tField, tParam, tProperty}
	resolutionScope = []table{tModule, tModuleRef, tAssemblyRef, tTypeRef}
	implementation  = []table{tFile, tAssemblyRef, tExportedType}
	typeOrMethodDef = []table{tTypeDef, tMethodDef}
	memberRefParent = []table{tTypeDef, tTypeRef, tModuleRef, tMethodDef, tTypeSpec}
	methodDefOrRef  = []table{tMethodDef, tMemberRef}

	hasCustomAttribute = []table{
		tMethodDef, tField, tTypeRef, tTypeDef, tParam, 0x09, tMemberRef, tModule, 0x0e, tProperty, tEvent, 0x11,
		tModuleRef, tTypeSpec, tAssembly, tAssemblyRef, tFile, tExportedType, 0x28, tGenericParam, 0x2c, tMethodSpec,
	}
	customAttributeType = []table{noTable, noTable, tMethodDef, tMemberRef, noTable}
	hasFieldMarshal     = []table{tField, tParam}
	hasDeclSecurity     = []table{tTypeDef, tMethodDef, tAssembly}
	hasSemantics        = []table{tEvent, tProperty}
	memberForwarded     = []table{tField, tMethodDef}
)

// schema are the columns of all tables, by number (ECMA-335, II.22.2 to II.22.39): a number of so many bytes, an index
// into a heap (s: names, b: signatures and the like, g: identities), into a table (.06) or a coded one.
const schema = "2sggg Rss 4ssT.04.06 .04 2sb .06 422sb.08 .08 22s .02T Psb 2Cb AUb Mb 2Db 24.02 4.04 b .02.14 .14 " +
	"2sT .02.17 .17 2sb 2.06S .02OO s b 2Fs.1a 4.04 44 4 422224bss 4 444 22224bssb 4.23 444.23 4sb 44ssI " +
	"44sI .02.02 22Ys Ob .2aT"

// coded are the tables that the index of a column may be into, by its letter in the schema.
func coded(letter byte) []table {
	switch letter {
	case 'R':
		return resolutionScope
	case 'T':
		return typeDefOrRef
	case 'P':
		return memberRefParent
	case 'C':
		return hasConstant
	case 'A':
		return hasCustomAttribute
	case 'U':
		return customAttributeType
	case 'M':
		return hasFieldMarshal
	case 'D':
		return hasDeclSecurity
	case 'S':
		return hasSemantics
	case 'O':
		return methodDefOrRef
	case 'F':
		return memberForwarded
	case 'I':
		return implementation
	case 'Y':
		return typeOrMethodDef
	}
	return nil
}

// rows are those of one table.
type rows struct {
	data  []byte
	count uint32
	width int
	at    []int // offsets of the columns, and the width behind them
}

// metadata is the tables with the heaps.
type metadata struct {
	tables        [0x2d]rows
	strings, blob []byte

	nesting sync.Once
	nested  map[uint32]uint32 // of types within others: those, by number
}

const (
	metadataMagic = 0x424a5342
	maxStreams    = 64
)

// parse reads the metadata root (ECMA-335, II.24.2).
func (m *metadata) parse(d []byte) error {
	if len(d) < 20 || u32(d, 0) != metadataMagic {
		return fmt.Errorf("%w: it has no metadata", errDamaged)
	}
	at := 16 + int64(u32(d, 12))
	if at+4 > int64(len(d)) {
		return fmt.Errorf("%w: its metadata is cut short", errDamaged)
	}
	count := int(u16(d, int(at)+2))
	at += 4
	var tables []byte
	for range min(count, maxStreams) {
		if at+8 > int64(len(d)) {
			return fmt.Errorf("%w: its metadata is cut short", errDamaged)
		}
		off, size := int64(u32(d, int(at))), int64(u32(d, int(at)+4))
		name, _, ok := bytes.Cut(d[at+8:min(at+8+32, int64(len(d)))], []byte{0})
		if !ok || off > int64(len(d)) || size > int64(len(d))-off {
			return fmt.Errorf("%w: a part of its metadata lies outside of it", errDamaged)
		}
		at += 8 + int64(len(name)/4*4+4)
		switch stream := d[off : off+size : off+size]; string(name) {
		case "#~":
			tables = stream
		case "#-":
			return fmt.Errorf("%w: its metadata is not in the form that compilers write (#-)", errDamaged)
		case "#Strings":
			m.strings = stream
		case "#Blob":
			m.blob = stream
		}
	}
	return m.parseTables(tables)
}

// parseTables reads the header of the tables (ECMA-335, II.24.2.6).
func (m *metadata) parseTables(d []byte) error {
	if len(d) < 24 {
		return fmt.Errorf("%w: it has no tables", errDamaged)
	}
	heaps, valid := d[6], binary.LittleEndian.Uint64(d[8:])
	at := 24
	for i := range 64 {
		if valid&(1<<i) == 0 {
			continue
		}
		if at+4 > len(d) {
			return fmt.Errorf("%w: its tables are cut short", errDamaged)
		}
		if i >= len(m.tables) {
			return fmt.Errorf("%w: it has a table of kind %#x, which is not known", errDamaged, i)
		}
		m.tables[i].count = u32(d, at)
		at += 4
	}
	if heaps&0x40 != 0 {
		at += 4 // extra data
	}
	rest := d[min(at, len(d)):]
	for i, cols := range strings.Split(schema, " ") {
		t := &m.tables[i]
		for ; cols != ""; cols = cols[1:] {
			in := coded(cols[0])
			if cols[0] == '.' {
				n, _ := strconv.ParseUint(cols[1:3], 16, 8)
				in, cols = []table{table(n)}, cols[2:]
			}
			t.at = append(t.at, t.width)
			t.width += m.size(cols[0], in, heaps)
		}
		t.at = append(t.at, t.width)
		n := uint64(t.count) * uint64(t.width)
		if n > uint64(len(rest)) {
			return fmt.Errorf("%w: its tables are cut short", errDamaged)
		}
		t.data, rest = rest[:n:n], rest[n:]
	}
	return nil
}

// size is the number of bytes of a column by its letter; in are the tables that it may be into.
func (m *metadata) size(letter byte, in []table, heaps byte) int {
	const two, four = 2, 4
	large := byte(0) // the heap has more than two bytes can tell
	switch {
	case in != nil:
	case letter == '2':
		return two
	case letter == '4':
		return four
	case letter == 's':
		large = 1
	case letter == 'g':
		large = 2
	case letter == 'b':
		large = 4
	}
	if in == nil && heaps&large != 0 {
		return four
	} else if in == nil {
		return two
	}
	var most uint32
	for _, t := range in {
		if t != noTable {
			most = max(most, m.tables[t].count)
		}
	}
	tag := 0
	if len(in) > 1 {
		tag = bits.Len(uint(len(in) - 1))
	}
	if uint64(most) < 1<<(16-tag) {
		return 2
	}
	return 4
}

// cell is a value of a table: rows are counted from 1. One that is not there is 0.
func (m *metadata) cell(t table, row uint32, col int) uint32 {
	r := &m.tables[t]
	if row == 0 || row > r.count {
		return 0
	}
	from := int(row-1)*r.width + r.at[col]
	if r.at[col+1]-r.at[col] == 2 {
		return uint32(u16(r.data, from))
	}
	return u32(r.data, from)
}

// decode takes a coded index apart.
func decode(v uint32, in []table) (t table, row uint32) {
	tag := bits.Len(uint(len(in) - 1))
	if i := int(v & (1<<tag - 1)); i < len(in) {
		return in[i], v >> tag
	}
	return noTable, 0
}

// maxName bounds one name.
const maxName = 1024

// text is a string of the heap.
func (m *metadata) text(at uint32) string { return string(m.raw(at)) }

// raw is the same in the file itself.
func (m *metadata) raw(at uint32) []byte {
	if uint64(at) >= uint64(len(m.strings)) {
		return nil
	}
	s := m.strings[at:]
	if i := bytes.IndexByte(s[:min(len(s), maxName)], 0); i >= 0 {
		return s[:i]
	}
	return nil
}

// bytes is a value of the blob heap (ECMA-335, II.24.2.4).
func (m *metadata) bytes(at uint32) []byte {
	if uint64(at) >= uint64(len(m.blob)) {
		return nil
	}
	r := reader{data: m.blob[at:]}
	n := r.number()
	if r.bad || uint64(n) > uint64(len(r.data)) {
		return nil
	}
	return r.data[:n:n]
}

// owner finds the type whose list holds a row: lists are ascending, and each goes up to the next one's begin.
func (m *metadata) owner(row uint32, col int) uint32 {
	low, high := uint32(1), m.tables[tTypeDef].count+1
	for low < high {
		mid := low + (high-low)/2
		if m.cell(tTypeDef, mid, col) <= row {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low - 1
}

// Columns of tables.
const (
	typeName, typeSpace             = 1, 2 // of TypeDef and TypeRef
	typeFlags, typeBase             = 0, 3
	typeFields, typeMethods         = 4, 5
	methodFlags, methodName         = 2, 3
	methodSig, methodParams         = 4, 5
	fieldFlags, fieldName, fieldSig = 0, 1, 2
	paramNumber, paramName          = 1, 2
	genericNumber, genericOwner     = 0, 2
	genericName                     = 3
)

// enclosing is the type that a type is nested in, 0: none.
func (m *metadata) enclosing(typ uint32) uint32 {
	m.nesting.Do(func() {
		t := &m.tables[tNestedClass]
		m.nested = make(map[uint32]uint32, t.count)
		for row := uint32(1); row <= t.count; row++ {
			m.nested[m.cell(tNestedClass, row, 0)] = m.cell(tNestedClass, row, 1)
		}
	})
	return m.nested[typ]
}

// generics are the names of the type parameters of a type or method, in order.
func (m *metadata) generics(t table, row uint32) (names []string) {
	want := row << 1
	if t == tMethodDef {
		want |= 1
	}
	all := &m.tables[tGenericParam]
	// The table is sorted by owner (II.22.20).
	low, high := uint32(1), all.count+1
	for low < high {
		mid := low + (high-low)/2
		if m.cell(tGenericParam, mid, genericOwner) < want {
			low = mid + 1
		} else {
			high = mid
		}
	}
	for ; low <= all.count && m.cell(tGenericParam, low, genericOwner) == want && len(names) < maxGenerics; low++ {
		names = append(names, m.text(m.cell(tGenericParam, low, genericName)))
	}
	return names
}

const (
	maxGenerics = 256
	maxNesting  = 16
)

// link is a type in a chain of nested ones.
type link struct{ space, name []byte }

// chain is a type with those that it is nested in, the outermost first.
func (m *metadata) chain(links []link, t table, row uint32) []link {
	for range maxNesting {
		if t != tTypeDef && t != tTypeRef {
			break
		}
		links = append(links, link{m.raw(m.cell(t, row, typeSpace)), m.raw(m.cell(t, row, typeName))})
		if t == tTypeDef {
			if row = m.enclosing(row); row == 0 {
				break
			}
			continue
		}
		if t, row = decode(m.cell(tTypeRef, row, 0), resolutionScope); t != tTypeRef {
			break
		}
	}
	for i, j := 0, len(links)-1; i < j; i, j = i+1, j-1 {
		links[i], links[j] = links[j], links[i]
	}
	return links
}

// named writes a type's name: with its namespace if full, with the arguments of its type parameters, of which there
// are n.
func (m *metadata) named(b *bytes.Buffer, t table, row uint32, n int, arg func(i int), full bool) {
	var room [4]link
	next := 0
	for i, l := range m.chain(room[:0], t, row) {
		switch {
		case b.Len() > maxText:
			return
		case i > 0:
			b.WriteByte('+')
		case full && len(l.space) > 0:
			b.Write(l.space)
			b.WriteByte('.')
		}
		// "List`1" takes one of the arguments.
		name, count, _ := bytes.Cut(l.name, []byte("`"))
		b.Write(name)
		take := 0
		for _, c := range count {
			if c < '0' || c > '9' || take > maxGenerics {
				take = 0
				break
			}
			take = 10*take + int(c-'0')
		}
		list(b, "<>", min(take, n-next), func(i int) { arg(next + i) })
		next += min(take, n-next)
	}
}

// list writes n things in brackets, nothing if there are none.
func list(b *bytes.Buffer, brackets string, n int, write func(i int)) {
	if n <= 0 {
		return
	}
	b.WriteByte(brackets[0])
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		if b.Len() > maxText {
			b.WriteByte('?')
			break
		}
		write(i)
	}
	b.WriteByte(brackets[1])
}
