package debuginfo

import (
	"errors"
	"fmt"
	"math"
	"path"
	"sort"

	"trocar/internal/binary/section"
)

// lineRow is a row of the line number matrix (DWARF 5, 6.2.2).
type lineRow struct {
	addr  uint64
	file  uint32
	line  uint32
	col   uint16
	flags uint8
}

const (
	rowStmt uint8 = 1 << iota
	rowPrologueEnd
	rowEnd // the first address behind a sequence
)

// lineTable is a unit's line number information.
type lineTable struct {
	u       *unit
	compDir string
	dirs    [][]byte
	files   []lineFile
	paths   map[uint64]string
	version uint16

	program  []byte
	minInst  uint8
	maxOps   uint8
	stmt     bool
	lineBase int8
	lineRng  uint8
	opBase   uint8
	opLens   []byte
	addrSize uint8

	rows      []lineRow // sorted by address; nil until decoded
	done      bool
	questions int   // asked before
	starts    []int // of the sequences in rows
}

type lineFile struct {
	name []byte
	dir  uint64
}

// mostSpareRows bounds the memory that is kept for the rows of the next sequence.
const mostSpareRows = 1 << 15

// maxPath bounds a file's path.
const maxPath = 1 << 14

// lineHeader returns the unit's line table, of which only the header has been read; nil without an error if it has
// none.
func (u *unit) lineHeader() (*lineTable, error) {
	u = u.main()
	ro := u.root
	if ro.lines != nil || ro.linesErr != nil || ro.lineOff < 0 {
		return ro.lines, ro.linesErr
	}
	off := uint64(ro.lineOff)
	if u.pkg != nil {
		off += u.pkg.off[secLine]
	}
	lt := &lineTable{u: u, compDir: ro.compDir}
	if err := lt.parse(u.f.lineProgram(off), off); err != nil {
		ro.linesErr = fmt.Errorf("%s: line table of %s: %w", u.f.name, ro.name, err)
		return nil, ro.linesErr
	}
	ro.lines = lt
	return lt, nil
}

// lineProgram is .debug_line as far as the end of the table at an offset.
func (f *file) lineProgram(off uint64) []byte {
	if off > math.MaxInt32 {
		return f.section(secLine)
	}
	r := section.At(f.upTo(secLine, int(off)+12), off)
	n, _ := r.InitialLength()
	if r.Bad || n > uint64(r.Left()) {
		return f.section(secLine)
	}
	return f.upTo(secLine, r.Pos+int(n))
}

func (lt *lineTable) parse(data []byte, off uint64) error {
	r := section.At(data, off)
	n, off64 := r.InitialLength()
	if r.Bad || n > uint64(r.Left()) {
		return errShort
	}
	r.Data = data[:r.Pos+int(n)]
	lt.version = r.U16()
	lt.addrSize = lt.u.addrSize
	switch {
	case lt.version == 5:
		lt.addrSize = r.U8()
		r.U8() // segment selector size
	case lt.version < 2 || lt.version > 5:
		return fmt.Errorf("version %d is not known", lt.version)
	}
	n = r.Offset(off64)
	if r.Bad || n > uint64(r.Left()) || lt.addrSize != 8 && lt.addrSize != 4 {
		return errShort
	}
	lt.program = r.Data[r.Pos+int(n):]
	r.Data = r.Data[:r.Pos+int(n)]
	lt.minInst = r.U8()
	lt.maxOps = 1
	if lt.version >= 4 {
		lt.maxOps = r.U8()
	}
	lt.stmt = r.U8() != 0
	lt.lineBase = int8(r.U8())
	lt.lineRng = r.U8()
	lt.opBase = r.U8()
	if r.Bad || lt.lineRng == 0 || lt.opBase == 0 || lt.maxOps != 1 {
		return errors.New("damaged header")
	}
	lt.opLens = r.Bytes(uint64(lt.opBase) - 1)
	if lt.version == 5 {
		return lt.parseV5(&r, off64)
	}
	for {
		dir := r.CString()
		if len(dir) == 0 {
			break
		}
		lt.dirs = append(lt.dirs, dir)
	}
	lt.files = append(lt.files, lineFile{}) // numbered from 1
	for {
		name := r.CString()
		if len(name) == 0 {
			break
		}
		f := lineFile{name: name, dir: r.ULEB()}
		r.ULEB() // time
		r.ULEB() // size
		lt.files = append(lt.files, f)
	}
	if r.Bad {
		return errShort
	}
	return nil
}

// parseV5 reads the self-describing lists of directories and files (DWARF 5, 6.2.4.1).
func (lt *lineTable) parseV5(r *section.Reader, off64 bool) error {
	err := lt.entries(r, off64, func(name []byte, _ uint64) { lt.dirs = append(lt.dirs, name) })
	if err != nil {
		return err
	}
	return lt.entries(r, off64, func(name []byte, dir uint64) { lt.files = append(lt.files, lineFile{name, dir}) })
}

const (
	lnctPath  = 1
	lnctIndex = 2
)

func (lt *lineTable) entries(r *section.Reader, off64 bool, add func(name []byte, dir uint64)) error {
	n := int(r.U8())
	kinds, forms := make([]uint64, n), make([]uint64, n)
	for i := range n {
		kinds[i], forms[i] = r.ULEB(), r.ULEB()
	}
	count := r.ULEB()
	if r.Bad || count > uint64(r.Left()) || count > 0 && n == 0 {
		return errShort
	}
	layout := &unit{f: lt.u.f, format: format{version: 5, addrSize: lt.addrSize, off64: off64}}
	for range count {
		var name []byte
		var dir uint64
		for i := range n {
			v := value{form: uint16(min(forms[i], 0xffff))}
			readValue(r, layout, &v, 0)
			switch kinds[i] {
			case lnctPath:
				name = lt.u.strBytes(v)
			case lnctIndex:
				dir = v.u
			}
		}
		if r.Bad {
			return errShort
		}
		add(name, dir)
	}
	return nil
}

// path returns the path of a file: absolute if the compiler's directory is known.
func (lt *lineTable) path(file uint64) string {
	if file >= uint64(len(lt.files)) {
		return ""
	}
	p, ok := lt.paths[file]
	if !ok {
		p = lt.makePath(file)
		if lt.paths == nil {
			lt.paths = make(map[uint64]string)
		}
		lt.paths[file] = p
	}
	return p
}

func (lt *lineTable) makePath(file uint64) string {
	f := lt.files[file]
	if len(f.name) == 0 || len(f.name) > maxPath {
		return ""
	}
	name := string(f.name)
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	dir := lt.compDir
	d := f.dir
	if lt.version < 5 {
		if d == 0 {
			return path.Join(dir, name)
		}
		d--
	}
	if d < uint64(len(lt.dirs)) && len(lt.dirs[d]) <= maxPath {
		// In version 5 the first directory is that of the compilation, which need not be absolute either (6.2.4).
		if sub := string(lt.dirs[d]); path.IsAbs(sub) || lt.version >= 5 && d == 0 && sub == dir {
			dir = sub
		} else {
			dir = path.Join(dir, sub)
		}
	}
	return path.Join(dir, name)
}

// decode runs the line number program and keeps all rows.
func (lt *lineTable) decode() {
	if lt.done {
		return
	}
	lt.done = true
	var sequences [][2]int
	lt.run(func(rows []lineRow) bool {
		sequences = append(sequences, [2]int{len(lt.rows), len(lt.rows) + len(rows)})
		lt.rows = append(lt.rows, rows...)
		return true
	})
	lt.order(sequences)
	lt.u.f.info.keep(lt.u, len(lt.rows)*24)
}

// run runs the line number program (DWARF 5, 6.2.5). It calls yield with the rows of each sequence until that returns
// false; they are only valid during the call. Sequences that the linker removed are left out.
func (lt *lineTable) run(yield func([]lineRow) bool) {
	r := section.Reader{Data: lt.program}
	dead := format{addrSize: lt.addrSize}
	start := lineRow{file: 1, line: 1}
	if lt.stmt {
		start.flags = rowStmt
	}
	row := start
	info := lt.u.f.info
	rows := info.rows[:0]
	defer func() {
		if cap(rows) <= mostSpareRows {
			info.rows = rows[:0]
		}
	}()
	for r.Pos < len(r.Data) {
		op := r.U8()
		if op >= lt.opBase {
			adj := op - lt.opBase
			row.addr += uint64(adj/lt.lineRng) * uint64(lt.minInst)
			row.line += uint32(int32(lt.lineBase) + int32(adj%lt.lineRng))
			rows = append(rows, row)
			row.flags &^= rowPrologueEnd
			continue
		}
		switch op {
		case 0: // extended
			ext := r.Bytes(r.ULEB())
			if len(ext) == 0 {
				continue
			}
			x := section.Reader{Data: ext, Pos: 1}
			switch ext[0] {
			case 1: // DW_LNE_end_sequence
				row.flags = rowEnd
				rows = append(rows, row)
				if !dead.gone(rows[0].addr) && ascending(rows) && !yield(rows) {
					return
				}
				rows, row = rows[:0], start
			case 2: // DW_LNE_set_address
				row.addr = x.Uint(len(ext) - 1)
			}
		case 1: // DW_LNS_copy
			rows = append(rows, row)
			row.flags &^= rowPrologueEnd
		case 2: // DW_LNS_advance_pc
			row.addr += r.ULEB() * uint64(lt.minInst)
		case 3: // DW_LNS_advance_line
			row.line += uint32(r.SLEB())
		case 4: // DW_LNS_set_file
			row.file = uint32(min(r.ULEB(), 1<<31))
		case 5: // DW_LNS_set_column
			row.col = uint16(min(r.ULEB(), 0xffff))
		case 6: // DW_LNS_negate_stmt
			row.flags ^= rowStmt
		case 7: // DW_LNS_set_basic_block
		case 8: // DW_LNS_const_add_pc
			row.addr += uint64((255-lt.opBase)/lt.lineRng) * uint64(lt.minInst)
		case 9: // DW_LNS_fixed_advance_pc
			row.addr += uint64(r.U16())
		case 10: // DW_LNS_set_prologue_end
			row.flags |= rowPrologueEnd
		case 11: // DW_LNS_set_epilogue_begin
		case 12: // DW_LNS_set_isa
			r.ULEB()
		default:
			for range lt.opLens[op-1] {
				r.ULEB()
			}
		}
	}
}

func ascending(rows []lineRow) bool {
	for i := 1; i < len(rows); i++ {
		if rows[i].addr < rows[i-1].addr {
			return false
		}
	}
	return true
}

// order puts the sequences in order of address.
func (lt *lineTable) order(sequences [][2]int) {
	less := func(i, j int) bool { return lt.rows[sequences[i][0]].addr < lt.rows[sequences[j][0]].addr }
	if !sort.SliceIsSorted(sequences, less) {
		sort.SliceStable(sequences, less)
		rows := make([]lineRow, 0, len(lt.rows))
		for _, s := range sequences {
			rows = append(rows, lt.rows[s[0]:s[1]]...)
		}
		lt.rows = rows
	}
	for i := range lt.rows {
		if i == 0 || lt.rows[i-1].flags&rowEnd != 0 {
			lt.starts = append(lt.starts, i)
		}
	}
}

// sequence returns the rows of the sequence that an address lies in. They are good until the next is asked for.
func (lt *lineTable) sequence(addr uint64) []lineRow {
	if !lt.done && lt.questions < wholeAfter {
		lt.questions++
		var found []lineRow
		lt.run(func(rows []lineRow) bool {
			if rows[0].addr <= addr && addr < rows[len(rows)-1].addr {
				found = rows
			}
			return found == nil
		})
		return found
	}
	lt.decode()
	i := sort.Search(len(lt.starts), func(i int) bool { return lt.rows[lt.starts[i]].addr > addr }) - 1
	for n := 0; i >= 0 && n < 64; i, n = i-1, n+1 { // sequences overlap in damaged files only
		end := len(lt.rows)
		if i+1 < len(lt.starts) {
			end = lt.starts[i+1]
		}
		if rows := lt.rows[lt.starts[i]:end]; rows[len(rows)-1].addr > addr {
			return rows
		}
	}
	return nil
}

// rowAt returns the row that holds for an address: the last one at or before it.
func (lt *lineTable) rowAt(addr uint64) (lineRow, bool) {
	rows := lt.sequence(addr)
	i := sort.Search(len(rows), func(i int) bool { return rows[i].addr > addr }) - 1
	if i < 0 || rows[i].flags&rowEnd != 0 {
		return lineRow{}, false
	}
	return rows[i], true
}

// body returns where a function's statements begin: its prologue has then put the parameters where the debug info of
// unoptimized code says they are. That is the row marked by DW_LNS_set_prologue_end (clang, rustc, Go), else the
// second address that has a row (GCC).
func (lt *lineTable) body(code Range) (uint64, bool) {
	rows := lt.sequence(code.Low)
	i := sort.Search(len(rows), func(i int) bool { return rows[i].addr >= code.Low })
	second := uint64(0)
	for ; i < len(rows) && rows[i].addr < code.High && rows[i].flags&rowEnd == 0; i++ {
		if rows[i].flags&rowPrologueEnd != 0 {
			return rows[i].addr, true
		}
		if second == 0 && rows[i].addr > code.Low && rows[i].flags&rowStmt != 0 {
			second = rows[i].addr
		}
	}
	return second, second != 0
}
