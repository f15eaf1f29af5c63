package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// Constants of DWARF that the files are made of.
const (
	tagArray, tagParam, tagMember, tagPointer, tagUnit     = 0x01, 0x05, 0x0d, 0x0f, 0x11
	tagStruct, tagTypedef, tagInlined, tagSubrange, tagSub = 0x13, 0x16, 0x1d, 0x21, 0x2e
	tagVariable, tagImported, tagPartial, tagBase          = 0x34, 0x3d, 0x3c, 0x24

	atName, atSize, atStmts, atLow, atHigh, atLocation = 0x03, 0x0b, 0x10, 0x11, 0x12, 0x02
	atBound, atImport, atOffset, atEncoding, atType    = 0x2f, 0x18, 0x38, 0x3e, 0x49
	atOrigin, atRanges, atSpec                         = 0x31, 0x55, 0x47

	formAddr, formString, formData1, formData8, formRef4 = 0x01, 0x08, 0x0b, 0x07, 0x13
	formSecOffset, formExpr, formRefAddr, formIndirect   = 0x17, 0x18, 0x10, 0x16
)

const (
	mega      = 1 << 20
	hostileMB = 9 // of each file
)

// hostileDecls are the declarations that most files use.
var hostileDecls = abbrevs(
	[]uint64{tagUnit, 1, atName, formString, atStmts, formSecOffset, atLow, formAddr, atHigh, formData8}, // 1
	[]uint64{tagSub, 1, atName, formString, atLow, formAddr, atHigh, formData8},                          // 2
	[]uint64{tagParam, 0, atName, formString, atType, formRef4},                                          // 3
	[]uint64{tagStruct, 1, atName, formString, atSize, formData8},                                        // 4
	[]uint64{tagMember, 0, atName, formString, atType, formRef4, atOffset, formData8},                    // 5
	[]uint64{tagBase, 0, atName, formString, atSize, formData1, atEncoding, formData1},                   // 6
	[]uint64{tagTypedef, 0, atType, formRef4},                                                            // 7
	[]uint64{tagSub, 0},                             // 8
	[]uint64{tagStruct, 1},                          // 9
	[]uint64{tagArray, 1, atType, formRef4},         // 10
	[]uint64{tagSubrange, 0, atBound, formData8},    // 11
	[]uint64{tagImported, 0, atImport, formRefAddr}, // 12
	[]uint64{tagPartial, 1},                         // 13
	[]uint64{tagInlined, 1, atOrigin, formRef4, atLow, formAddr, atHigh, formData8},                      // 14
	[]uint64{tagSub, 0, atOrigin, formRef4},                                                              // 15
	[]uint64{tagSub, 0, atName, formString, atLow, formAddr, atHigh, formData8, atRanges, formSecOffset}, // 16
	[]uint64{tagPointer, 0, atType, formRef4},                                                            // 17
	[]uint64{tagVariable, 0, atName, formString, atType, formRef4, atLocation, formExpr},                 // 18
	[]uint64{tagSub, 0, atName, formIndirect},                                                            // 19
	[]uint64{tagSub, 1, atName, formString, atLow, formAddr, atHigh, formData8, atType, formRef4},        // 20
	[]uint64{tagParam, 0, atName, formString, atType, formRef4, atLocation, formSecOffset},               // 21
)

// dies is a unit's entries as they are written.
type dies struct{ bytes.Buffer }

// entry writes an entry: numbers of variable length, uint64 and uint32 as they are, strings with their zero.
func (d *dies) entry(code uint64, values ...any) (at uint32) {
	at = uint32(d.Len()) + unitHead
	d.Write(uleb(nil, code))
	var b [8]byte
	for _, v := range values {
		switch v := v.(type) {
		case uint64:
			binary.LittleEndian.PutUint64(b[:], v)
			d.Write(b[:])
		case uint32:
			binary.LittleEndian.PutUint32(b[:4], v)
			d.Write(b[:4])
		case byte:
			d.WriteByte(v)
		case string:
			d.WriteString(v)
			d.WriteByte(0)
		default:
			panic(v)
		}
	}
	return at
}

func (d *dies) end() { d.WriteByte(0) }

// start writes the unit's own entry.
func (d *dies) start() {
	d.entry(1, "a.c", uint32(0), uint64(hostileCode), uint64(8))
}

func (d *dies) number() uint32 { return d.entry(6, "int", byte(4), byte(5)) }

// f writes the function, whose parameter is of a type.
func (d *dies) f(typ uint32) {
	d.entry(2, "f", uint64(hostileCode), uint64(8))
	d.entry(3, "p", typ)
	d.end()
}

func dwarf(info []byte, more ...part) []byte {
	parts := append([]part{debugPart(".debug_info", info), debugPart(".debug_abbrev", hostileDecls)}, more...)
	return hostileELF(parts...)
}

// one is a file of one unit.
func one(write func(*dies), more ...part) func() []byte {
	return func() []byte {
		d := &dies{}
		d.start()
		write(d)
		return dwarf(unit(d.Bytes()), more...)
	}
}

// repeat is a file of one unit, in which something comes again and again.
func repeat(again func(d *dies, i int), more ...part) func() []byte {
	return one(func(d *dies) {
		d.f(d.number())
		for i := 0; d.Len() < hostileMB*mega; i++ {
			again(d, i)
		}
	}, more...)
}

func hostileFiles() []hostileFile {
	return []hostileFile{
		{"packed-zeros", func() []byte {
			return hostileELF(packed(".debug_info", nil, []byte{0}, 180*mega), debugPart(".debug_abbrev", hostileDecls))
		}},
		{"packed-all", func() []byte {
			var parts []part
			for _, name := range []string{"info", "abbrev", "line", "str", "ranges", "loc", "aranges", "frame"} {
				parts = append(parts, packed(".debug_"+name, nil, []byte{0}, 150*mega))
			}
			return hostileELF(parts...)
		}},
		{"packed-most", func() []byte {
			return hostileELF(packed(".debug_info", nil, []byte{0}, 900*mega), debugPart(".debug_abbrev", hostileDecls))
		}},
		{"packed-entries", func() []byte {
			d := &dies{}
			d.start()
			d.f(d.number())
			head := unit(d.Bytes())
			binary.LittleEndian.PutUint32(head, uint32(len(head)-4+180*mega))
			return hostileELF(packed(".debug_info", head, []byte{8}, 180*mega), debugPart(".debug_abbrev", hostileDecls))
		}},
		{"packed-units", func() []byte {
			small := &dies{}
			small.start()
			return hostileELF(packed(".debug_info", nil, unit(small.Bytes()), 180*mega),
				debugPart(".debug_abbrev", hostileDecls))
		}},
		{"packed-lines", func() []byte {
			d := &dies{}
			d.start()
			d.f(d.number())
			head, _ := lineTable(170 * mega)
			return dwarf(unit(d.Bytes()), packed(".debug_line", head, []byte{11}, 170*mega+3))
		}},
		{"packed-symbols", func() []byte {
			return hostileELF(packed(".symtab", nil, []byte{0}, 170*mega), packed(".strtab", nil, []byte{0}, 20*mega))
		}},
		{"functions", repeat(func(d *dies, _ int) { d.entry(8) })},
		{"named-functions", repeat(func(d *dies, i int) {
			d.entry(2, fmt.Sprint("f", i), uint64(hostileCode), uint64(8))
			d.end()
		})},
		{"indirect", repeat(func(d *dies, i int) {
			d.Write(uleb(nil, 19))
			d.Write(bytes.Repeat([]byte{formIndirect}, 1000))
			d.Write([]byte{formString, 'f', 0})
		})},
		{"nested", repeat(func(d *dies, _ int) { d.entry(9) })},
		{"inlined", one(func(d *dies) {
			d.entry(2, "f", uint64(hostileCode), uint64(8))
			for d.Len() < hostileMB*mega {
				d.entry(14, uint32(unitHead), uint64(hostileCode), uint64(8))
			}
		})},
		{"origins", repeat(func(d *dies, _ int) {
			at := uint32(d.Len()) + unitHead
			d.entry(15, at+5) // the next one's
		})},
		{"typedefs", one(func(d *dies) {
			d.f(unitHead + 60)
			for d.Len() < hostileMB*mega {
				at := uint32(d.Len()) + unitHead
				d.entry(7, at+5)
			}
		})},
		{"pointers", one(func(d *dies) {
			first := uint32(d.Len()) + unitHead
			for d.Len() < hostileMB*mega {
				at := uint32(d.Len()) + unitHead
				d.entry(17, at+5)
			}
			d.f(first)
		})},
		{"itself", one(func(d *dies) {
			at := d.entry(4, "s", uint64(1<<40))
			d.entry(5, "a", at, uint64(0))
			d.entry(5, "b", at, uint64(8))
			d.end()
			d.f(at)
		})},
		{"doubling", one(func(d *dies) {
			t := d.number()
			for i := range 60 {
				name := "s"
				if i < 59 {
					name = fmt.Sprint("s", i)
				}
				at := d.entry(4, name, uint64(8)<<min(i, 50))
				d.entry(5, "a", t, uint64(0))
				d.entry(5, "b", t, uint64(8)<<min(i, 50)/2)
				d.end()
				t = at
			}
			d.f(t)
		})},
		{"members", one(func(d *dies) {
			t := d.number()
			at := d.entry(4, "s", uint64(1<<30))
			for i := 0; d.Len() < hostileMB*mega; i++ {
				d.entry(5, "a", t, uint64(i*4))
			}
			d.end()
			d.f(at)
		})},
		{"parameters", one(func(d *dies) {
			t := d.number()
			d.entry(2, "f", uint64(hostileCode), uint64(8))
			for d.Len() < hostileMB*mega {
				d.entry(3, "p", t)
			}
			d.end()
		})},
		{"dimensions", one(func(d *dies) {
			t := d.number()
			at := d.entry(10, t)
			for d.Len() < hostileMB*mega {
				d.entry(11, uint64(1<<62))
			}
			d.end()
			d.f(at)
		})},
		{"imports", importing},
		{"abbreviations", func() []byte {
			var b []byte
			for i := uint64(1); len(b) < hostileMB*mega; i++ {
				b = uleb(b, i<<20, tagSub, 0)
				b = append(b, 0, 0)
			}
			d := &dies{}
			d.start()
			return dwarf(unit(d.Bytes()), debugPart(".debug_abbrev", append(b, 0)))
		}},
		{"attributes", func() []byte {
			b := uleb(nil, 1, tagUnit, 1, atName, formString)
			for len(b) < hostileMB*mega {
				b = uleb(b, 0x2000, 0x19) // DW_FORM_flag_present: no bytes in the entries
			}
			b = append(b, 0, 0, 0)
			var units []byte
			for range 1000 {
				units = append(units, unit([]byte{1, 'a', 0, 0})...)
			}
			return hostileELF(debugPart(".debug_info", units), debugPart(".debug_abbrev", b))
		}},
		{"units", func() []byte {
			small := &dies{}
			small.start()
			b := unit(small.Bytes())
			return dwarf(bytes.Repeat(b, hostileMB*mega/len(b)))
		}},
		{"lines", one(func(d *dies) { d.f(d.number()) }, debugPart(".debug_line", lines(hostileMB*mega)))},
		{"line-files", one(func(d *dies) { d.f(d.number()) }, debugPart(".debug_line", lineFiles()))},
		{"line-units", func() []byte {
			d := &dies{}
			d.start()
			b := unit(d.Bytes())
			return dwarf(bytes.Repeat(b, 2*mega/len(b)), debugPart(".debug_line", lines(mega)))
		}},
		{"ranges", rangesFile},
		{"locations", locationsFile},
		{"symbols", func() []byte {
			return symbols("_Z" + strings.Repeat("N1a", 9000) + "1fE" +
				strings.Repeat("i", 30000))
		}},
		{"demangled", func() []byte { return symbols("_Z1fI" + doublingName(30) + "Evv") }},
		{"rust", func() []byte { return symbols("_RNvC1a" + strings.Repeat("I", 20) + "1f" + strings.Repeat("B_", 9000)) }},
		{"sections", func() []byte {
			var parts []part
			for range 60000 {
				parts = append(parts, part{name: ".debug_many", typ: 1})
			}
			return hostileELF(parts...)
		}},
		{"notes", func() []byte {
			var b []byte
			le := binary.LittleEndian
			for len(b) < hostileMB*mega {
				for _, v := range []uint32{8, 29, 3} {
					b = le.AppendUint32(b, v)
				}
				b = append(b, "stapsdt\x00"...)
				for _, v := range []uint64{hostileCode, 0, 0} {
					b = le.AppendUint64(b, v)
				}
				b = append(b, "a\x00f\x00\x00\x00\x00\x00"...)
			}
			return hostileELF(part{name: ".note.stapsdt", typ: 7, data: b})
		}},
		{"frames", func() []byte {
			return hostileELF(part{
				name: ".eh_frame", typ: 1, flags: 2, addr: hostileBase + 0x2000,
				data: framesOf(hostileMB * mega),
			})
		}},
		{"frame-rules", func() []byte {
			rules := bytes.Repeat([]byte{0x0a}, hostileMB*mega) // DW_CFA_remember_state
			return hostileELF(part{name: ".eh_frame", typ: 1, flags: 2, addr: hostileBase + 0x2000, data: frame(rules)})
		}},
		{"go-table", func() []byte {
			b := []byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8}
			le := binary.LittleEndian
			for _, v := range []uint64{1 << 40, 1 << 40, hostileCode, 72, 72, 72, 72, 72} {
				b = le.AppendUint64(b, v)
			}
			b = append(b, make([]byte, hostileMB*mega)...)
			info := part{name: ".go.buildinfo", typ: 1, flags: 3, data: []byte("\xff Go buildinf:\x08\x02")}
			return hostileELF(part{name: ".gopclntab", typ: 1, flags: 2, data: b}, info)
		}},
		{"xz", func() []byte { return hostileELF(debugPart(".gnu_debugdata", []byte("\xfd7zXZ\x00\x00\x04"))) }},
	}
}

// importing is units that import the next one twice each.
func importing() []byte {
	var units []byte
	le := binary.LittleEndian
	for i := range 60 {
		var b []byte
		if i == 0 {
			d := &dies{}
			d.start()
			b = d.Bytes()
		} else {
			b = uleb(nil, 13)
		}
		next := len(units) + unitHead + len(b) + 2*5 + 1
		for range 2 {
			b = append(b, 12)
			b = le.AppendUint32(b, uint32(next+unitHead))
		}
		units = append(units, unit(append(b, 0))...)
	}
	return dwarf(units)
}

// lines is a line program of so many bytes, of which each makes a row.
func lines(n int) []byte {
	head, end := lineTable(n)
	return append(append(head, bytes.Repeat([]byte{11}, n)...), end...)
}

// lineTable is what is before and behind the n bytes of a line program.
func lineTable(n int) (before, behind []byte) {
	le := binary.LittleEndian
	head := []byte{1, 1, 1, 0xff, 1, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1} // of minimum length 1, from line_base -1, range 1
	head = append(head, 0)                                          // no directories
	head = append(head, "a.c\x00\x00\x00\x00\x00"...)
	program := []byte{0, 9, 2}
	program = le.AppendUint64(program, hostileCode)
	behind = []byte{0, 1, 1}
	var b []byte
	b = le.AppendUint32(b, uint32(2+4+len(head)+len(program)+n+len(behind)))
	b = le.AppendUint16(b, 4)
	b = le.AppendUint32(b, uint32(len(head)))
	return append(append(b, head...), program...), behind
}

// lineFiles is a table of version 5 with many formats and files that take no room.
func lineFiles() []byte {
	le := binary.LittleEndian
	head := []byte{1, 1, 1, 0xff, 1, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1}
	head = append(head, 0)
	head = uleb(head, 1<<40) // directories, of nothing
	head = append(head, 0)
	head = uleb(head, 1<<40)
	var b []byte
	b = le.AppendUint32(b, uint32(2+2+4+len(head)))
	b = le.AppendUint16(b, 5)
	b = append(b, 8, 0)
	b = le.AppendUint32(b, uint32(len(head)))
	return append(b, head...)
}

// rangesFile has functions that all have the same long list of ranges.
func rangesFile() []byte {
	d := &dies{}
	d.start()
	for i := 0; d.Len() < 4*mega; i++ {
		d.entry(16, fmt.Sprint("f", i), uint64(0), uint64(8), uint32(0))
	}
	var r []byte
	for range 4 * mega / 16 {
		r = binary.LittleEndian.AppendUint64(r, 0)
		r = binary.LittleEndian.AppendUint64(r, 8)
	}
	return dwarf(unit(d.Bytes()), debugPart(".debug_ranges", append(r, make([]byte, 16)...)))
}

// locationsFile has a parameter with a long list of locations.
func locationsFile() []byte {
	d := &dies{}
	d.start()
	t := d.number()
	d.entry(2, "f", uint64(hostileCode), uint64(8))
	for range 1000 {
		d.entry(21, "p", t, uint32(0))
	}
	d.end()
	var l []byte
	for range hostileMB * mega / 19 {
		l = binary.LittleEndian.AppendUint64(l, 0)
		l = binary.LittleEndian.AppendUint64(l, 8)
		l = append(l, 1, 0, 0x55)
	}
	return dwarf(unit(d.Bytes()), debugPart(".debug_loc", append(l, make([]byte, 16)...)))
}

// symbols is a file with many symbols of one name.
func symbols(name string) []byte {
	le := binary.LittleEndian
	sym := make([]byte, 24)
	for i := 0; len(sym) < hostileMB*mega; i++ {
		sym = le.AppendUint32(sym, 1)
		sym = append(sym, 0x12, 0)
		sym = le.AppendUint16(sym, 1)
		sym = le.AppendUint64(sym, hostileCode+uint64(i%8))
		sym = le.AppendUint64(sym, 1)
	}
	return hostileELF(part{name: ".symtab", data: sym}, part{name: ".strtab", data: []byte("\x00" + name + "\x00")})
}

// doublingName is arguments of a template of which each has the one before twice.
func doublingName(n int) string {
	s := "1aIiiE"
	for i := range n {
		s += fmt.Sprintf("1bIS%s_S%s_E", substitution(i), substitution(i))
	}
	return s
}

// substitution is a number of an earlier part of a mangled name.
func substitution(i int) string {
	if i == 0 {
		return ""
	}
	return strings.ToUpper(fmt.Sprintf("%c", "0123456789abcdefghijklmnopqrstuvwxyz"[min(i-1, 35)]))
}

// frame is one CIE with these instructions, and one FDE.
func frame(rules []byte) []byte {
	le := binary.LittleEndian
	cie := append([]byte{0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1}, rules...)
	b := le.AppendUint32(nil, uint32(len(cie)))
	b = append(b, cie...)
	return append(b, fde(len(b))...)
}

// fde is one for f, whose CIE is so many bytes before it.
func fde(back int) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 20)
	b = le.AppendUint32(b, uint32(back+4))
	b = le.AppendUint64(b, hostileCode)
	return le.AppendUint64(b, 8)
}

// framesOf is so many bytes of entries for one function.
func framesOf(n int) []byte {
	b := frame(nil)
	for len(b) < n {
		b = append(b, fde(len(b))...)
	}
	return append(b, 0, 0, 0, 0)
}
