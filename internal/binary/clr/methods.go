package clr

import (
	"bytes"
	"strconv"
)

// Columns of MethodDef that only tell of code.
const (
	methodCode, methodImpl = 0, 1
)

// Methods calls yield with the methods that have code of their own (IL), by the number and the full name, which is only
// good until yield returns; those with a name, if it is not "".
func (im *Image) Methods(name string, yield func(method uint32, full []byte)) {
	m := &im.meta
	var s bytes.Buffer
	for row := uint32(1); row <= m.tables[tMethodDef].count; row++ {
		if m.cell(tMethodDef, row, methodCode) == 0 ||
			name != "" && string(m.raw(m.cell(tMethodDef, row, methodName))) != name {
			continue
		}
		s.Reset()
		im.WriteName(&s, &Body{Method: row})
		yield(row, s.Bytes())
	}
}

// Plain is a method's name as all of its instances have it: without arguments of types, and with the numbers of type
// parameters in the list of its parameters, as !0 of its type's and !!0 of its own.
func (im *Image) Plain(method uint32) string {
	m := &im.meta
	var s bytes.Buffer
	owner := im.Owner(method)
	marks := func(mark string, names []string) []string {
		for i := range names {
			names[i] = mark + strconv.Itoa(i)
		}
		return names
	}
	own, params := marks("!", m.generics(tTypeDef, owner)), marks("!!", m.generics(tMethodDef, method))
	m.named(&s, tTypeDef, owner, 0, nil, true)
	s.WriteString("::")
	s.Write(m.raw(m.cell(tMethodDef, method, methodName)))
	s.WriteByte('(')
	if sig, ok := im.Signature(method); ok {
		for i := range sig.Params {
			if i > 0 {
				s.WriteByte(',')
			}
			m.typeText(&s, &sig.Params[i], own, params)
		}
	}
	s.WriteByte(')')
	return s.String()
}

// Generic tells whether a method, or its type, has type parameters.
func (im *Image) Generic(method uint32) (ofType, ofMethod bool) {
	m := &im.meta
	return len(m.generics(tTypeDef, im.Owner(method))) > 0, len(m.generics(tMethodDef, method)) > 0
}

// Overloads is how many methods of a type have the name of one, and as many parameters.
func (im *Image) Overloads(method uint32) (n int) {
	m := &im.meta
	owner := im.Owner(method)
	own, _ := im.Signature(method)
	for row := m.cell(tTypeDef, owner, typeMethods); row > 0 && row <= m.tables[tMethodDef].count; row++ {
		if owner < m.tables[tTypeDef].count && row >= m.cell(tTypeDef, owner+1, typeMethods) {
			break
		}
		if m.cell(tMethodDef, row, methodName) == m.cell(tMethodDef, method, methodName) {
			if sig, ok := im.Signature(row); !ok || len(sig.Params) == len(own.Params) {
				n++
			}
		}
	}
	return n
}

// Inlined tells whether the compiler may put a method into its callers: not if it is told not to, or has more code than
// it ever takes (JitExtDefaultPolicyMaxILProf, 1024 bytes), unless it is told to.
func (im *Image) Inlined(method uint32) bool {
	const never, always, most = 0x8, 0x100, 1024
	flags := im.meta.cell(tMethodDef, method, methodImpl)
	_, size := im.Source(method)
	return flags&never == 0 && (size <= most || flags&always != 0)
}

// Source is where the file has the instructions that a method is compiled from, and their size; 0: nowhere (ECMA-335,
// II.25.4).
func (im *Image) Source(method uint32) (off int64, size int) {
	addr := im.meta.cell(tMethodDef, method, methodCode)
	head := im.Code(addr, 12)
	s := im.sectionAt(addr)
	if len(head) == 0 || s == nil {
		return 0, 0
	}
	off = int64(s.Offset) + int64(addr-s.Addr)
	switch {
	case head[0]&3 == 2:
		return off + 1, int(head[0] >> 2)
	case head[0]&3 == 3 && len(head) == 12:
		return off + 4*int64(head[1]>>4), int(u32(head, 4))
	}
	return 0, 0
}

// Assembly is the name of the assembly.
func (im *Image) Assembly() string { return im.meta.text(im.meta.cell(tAssembly, 1, 7)) }
