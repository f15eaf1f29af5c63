package check

import (
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// C definitions become types by the System V ABI for amd64 (and the one of arm64, which agrees for all that can be
// written here): "System V Application Binary Interface, AMD64 Architecture Processor Supplement", section 3.1.2.

// definitions are the types a script defines. Names are "struct foo", "union u", "enum e", or a typedef's name.
type definitions struct {
	c           *checker
	types       map[string]*types.Type
	enumerators map[string]enumerator
	variants    map[string]map[int64]string // of an enum by its name
	depth       int
	cost        int // fields laid out so far
}

type enumerator struct {
	value int64
	typ   *types.Type
}

// maxFields bounds how much a script can make us lay out; maxTypeSize how large a type may be (the kernel reads at most
// this in one go).
const (
	maxFields   = 1 << 16
	maxTypeSize = 1 << 28
)

func (c *checker) define(defs []syntax.CDef) *definitions {
	d := &definitions{
		c: c, types: map[string]*types.Type{}, enumerators: map[string]enumerator{},
		variants: map[string]map[int64]string{},
	}
	for _, def := range defs {
		switch def := def.(type) {
		case *syntax.CStruct:
			d.structDef(def)
		case *syntax.CEnum:
			d.enumDef(def)
		case *syntax.CTypedef:
			if t := d.ctype(def.Span, def.Type); t != nil {
				d.types[def.Name] = t
			}
		}
	}
	return d
}

// structDef lays out a structure or union and makes its name known.
func (d *definitions) structDef(s *syntax.CStruct) *types.Type {
	t := &types.Type{Kind: types.Struct, Align: 1}
	word := "struct "
	if s.Union {
		t.Kind, word = types.Union, "union "
	}
	if s.Name != "" {
		t.Name = word + s.Name
		if old := d.types[t.Name]; old != nil {
			if !old.Incomplete {
				d.c.errorf(s.Span, "%s is already defined", t.Name)
				return old
			}
			t = old // pointers to it are in use
			t.Incomplete = false
		}
		d.types[t.Name] = t
	}
	if d.depth++; d.depth > 64 {
		d.c.errorf(s.Span, "structures are nested too deeply")
		d.depth--
		return t
	}
	defer func() { d.depth-- }()
	// Types must not be complete before they end: a member cannot have the type it is in.
	t.Incomplete = true
	d.layOut(t, s)
	t.Incomplete = false
	return t
}

func (d *definitions) layOut(t *types.Type, s *syntax.CStruct) {
	bits := 0 // where the next member of a structure may begin
	size, align := 0, 1
	for i := range s.Fields {
		f := &s.Fields[i]
		if d.cost++; d.cost > maxFields {
			d.c.errorf(f.Span, "too many members: a script's structures may have %d in all", maxFields)
			return
		}
		ft := d.ctype(f.Span, f.Type)
		if ft == nil {
			continue
		}
		flexible := ft.Kind == types.Array && ft.Len < 0
		if ft.Incomplete || ft.Kind == types.Void || ft.Kind == types.Func {
			d.c.errorf(f.Span, "C definition error: field has incomplete type '%s'", typestr(ft)).
				Hint("define it before it is used, or use a pointer to it")
			continue
		}
		fa := max(ft.Align, 1)
		if s.Packed {
			fa = 1
		}
		field := types.Field{Name: f.Name, Type: ft}
		switch {
		case f.Bits >= 0 && !ft.IsInteger():
			d.c.errorf(f.Span, "bit-field %s has a type that is not an integer: '%s'", f.Name, typestr(ft))
			continue
		case f.Bits > 8*ft.Size:
			d.c.errorf(f.Span, "width of bit-field %s (%d bits) exceeds the width of its type (%d bits)", f.Name, f.Bits,
				8*ft.Size)
			continue
		case f.Bits == 0:
			// An unnamed field of width 0 ends the storage unit.
			if !s.Union {
				bits = roundUp(bits, 8*ft.Align)
			}
			continue
		case f.Bits > 0:
			if s.Union {
				bits = 0
			} else if !s.Packed && bits/(8*ft.Size) != (bits+f.Bits-1)/(8*ft.Size) {
				bits = roundUp(bits, 8*ft.Align) // a bit-field must not cross a boundary of its type
			}
			field.Offset, field.BitOffset, field.BitSize = bits/8, bits%8, f.Bits
			bits += f.Bits
			if f.Name == "" {
				fa = 1 // unnamed bit-fields don't align the structure
			}
		default:
			if s.Union {
				bits = 0
			}
			bits = roundUp(bits, 8*fa)
			field.Offset = bits / 8
			if !flexible {
				bits += 8 * ft.Size
			}
		}
		align = max(align, fa)
		size = max(size, (bits+7)/8)
		if size > maxTypeSize {
			d.c.errorf(f.Span, "the type is too large: more than %d bytes", maxTypeSize)
			return
		}
		if field.BitSize == 0 || f.Name != "" {
			t.Fields = append(t.Fields, field)
		}
	}
	if s.Align > align {
		align = s.Align
	}
	t.Align = align
	t.Size = roundUp(size, align)
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// enumDef makes an enum and its enumerators known. Enumerators are 64 bits wide in expressions, whatever the enum's
// size.
func (d *definitions) enumDef(e *syntax.CEnum) *types.Type {
	t := &types.Type{Kind: types.Enum, Name: "enum " + e.Name, Size: 4, Align: 4}
	for i, n := range e.Names {
		v := e.Values[i]
		if v < 0 {
			t.Signed = true
		}
		if v != int64(int32(v)) && v != int64(uint32(v)) {
			t.Size, t.Align = 8, 8
		}
		t.Enums = append(t.Enums, types.Enumerator{Name: n, Value: v})
	}
	wide := *t
	wide.Size, wide.Align, wide.Signed = 8, 8, false
	for _, en := range t.Enums {
		d.enumerators[en.Name] = enumerator{en.Value, &wide}
	}
	if e.Name != "" {
		d.types[t.Name] = t
	}
	return t
}

// wideEnum is the enum as a type of expressions.
func wideEnum(t *types.Type) *types.Type {
	if t.Size == 8 {
		return t
	}
	w := *t
	w.Size, w.Align, w.Signed = 8, 8, false
	return &w
}

// cNames are the names of C's own types on a 64-bit machine, and of those of <stdint.h>, <sys/types.h> and the kernel's
// headers that scripts use without including anything: in a text, each with a comma on both sides.
var cNames = []struct {
	t     *types.Type
	names string
}{
	{types.TVoid, ",void,"},
	{types.TCBool, ",bool,_Bool,"},
	{types.TChar, ",char,"},
	{types.TInt8, ",signed char,int8_t,s8,__s8,"},
	{types.TUint8, ",unsigned char,uint8_t,u8,__u8,"},
	{types.TInt16, ",short,short int,signed short,signed short int,int16_t,s16,__s16,"},
	{types.TUint16, ",unsigned short,unsigned short int,short unsigned int,uint16_t,u16,__u16,__be16,__le16,"},
	{types.TInt32, ",int,signed,signed int,int32_t,s32,__s32,pid_t,"},
	{types.TUint32, ",unsigned,unsigned int,uint32_t,u32,__u32,__be32,__le32,uid_t,gid_t,mode_t,"},
	{types.TInt64, ",long,long int,signed long,signed long int,long long,long long int,signed long long," +
		"signed long long int,int64_t,s64,__s64,ssize_t,intptr_t,ptrdiff_t,off_t,loff_t,time_t,"},
	{types.TUint64, ",unsigned long,unsigned long int,long unsigned int,unsigned long long,unsigned long long int," +
		"long long unsigned int,uint64_t,u64,__u64,__be64,__le64,size_t,uintptr_t,dev_t,ino_t,"},
	{&types.Type{Kind: types.Float, Name: "float", Size: 4, Align: 4}, ",float,"},
	{&types.Type{Kind: types.Float, Name: "double", Size: 8, Align: 8}, ",double,"},
	{types.ArrayOf(types.TUint64, 16), ",sigset_t,"},
}

// cName is one of those; nil: there is none of that name.
func cName(name string) *types.Type {
	for i := range cNames {
		if strings.Contains(cNames[i].names, ","+name+",") && !strings.Contains(name, ",") {
			return cNames[i].t
		}
	}
	return nil
}

// scriptNames are the script's own names of integers, which C definitions may use as well.
func scriptName(name string) *types.Type {
	switch name {
	case "int8":
		return types.TInt8
	case "int16":
		return types.TInt16
	case "int32":
		return types.TInt32
	case "int64":
		return types.TInt64
	case "uint8":
		return types.TUint8
	case "uint16":
		return types.TUint16
	case "uint32":
		return types.TUint32
	case "uint64":
		return types.TUint64
	case "bool":
		return types.TBool
	}
	return nil
}

// ctype makes the type of a member or typedef; nil after an error.
func (d *definitions) ctype(span diag.Span, ct syntax.CType) *types.Type {
	var t *types.Type
	switch {
	case ct.Inline != nil:
		t = d.structDef(ct.Inline)
	case ct.InlineEnum != nil:
		t = d.enumDef(ct.InlineEnum)
	default:
		t = d.named(ct.Base)
		if t == nil && isTag(ct.Base) {
			t = d.incomplete(ct.Base)
		}
		if t == nil {
			diag := d.c.errorf(span, "C definition error: unknown type name '%s'", ct.Base)
			hintNear(diag, ct.Base, d.names())
			return nil
		}
	}
	if ct.Func {
		fn := &types.Type{Kind: types.Func, Name: "function"}
		t = types.PointerTo(fn, types.AnySpace)
	}
	return d.modified(span, t, ct.Mods)
}

// modified adds pointers and dimensions, first to last; in C's `int a[2][3]` the last dimension is the innermost.
func (d *definitions) modified(span diag.Span, t *types.Type, mods []syntax.TypeMod) *types.Type {
	for i := 0; i < len(mods); i++ {
		if mods[i].Pointer {
			t = types.PointerTo(t, types.AnySpace)
			continue
		}
		end := i
		for end+1 < len(mods) && !mods[end+1].Pointer {
			end++
		}
		for j := end; j >= i; j-- {
			n := mods[j].Len
			if mods[j].NoLen {
				n = -1
			}
			if t.Incomplete || t.Kind == types.Void {
				d.c.errorf(span, "array has incomplete element type '%s'", typestr(t))
				return nil
			}
			if n > 0 && t.Size > maxTypeSize/n {
				d.c.errorf(span, "the type is too large: more than %d bytes", maxTypeSize)
				return nil
			}
			t = types.ArrayOf(t, n)
		}
		i = end
	}
	return t
}

func isTag(name string) bool {
	return strings.HasPrefix(name, "struct ") || strings.HasPrefix(name, "union ") || strings.HasPrefix(name, "enum ")
}

// named finds a type by name: the script's, C's, or the kernel's.
func (d *definitions) named(name string) *types.Type {
	if t := d.types[name]; t != nil {
		return t
	}
	if t := cName(name); t != nil {
		return t
	}
	if t := scriptName(name); t != nil {
		return t
	}
	if d.redefines() {
		return nil
	}
	return d.c.in.Lookup.kernelType(name)
}

// redefines tells whether the script defines a type that the kernel has as well. Then the kernel's types are left out
// of its definitions: the two sets would contradict each other.
func (d *definitions) redefines() bool {
	if d.c.in.Lookup.KernelType == nil {
		return false
	}
	for name, t := range d.types {
		if isTag(name) && (!t.Incomplete || d.depth > 0) && d.c.in.Lookup.KernelType(name) != nil {
			return true
		}
	}
	return false
}

// incomplete makes a type of which only the name is known.
func (d *definitions) incomplete(name string) *types.Type {
	t := &types.Type{Kind: types.Struct, Name: name, Align: 1, Incomplete: true}
	if strings.HasPrefix(name, "union ") {
		t.Kind = types.Union
	} else if strings.HasPrefix(name, "enum ") {
		t.Kind, t.Size, t.Align = types.Enum, 4, 4
	}
	d.types[name] = t
	return t
}

// names lists the names of types for hints.
func (d *definitions) names() []string {
	var names []string
	for n := range d.types {
		names = append(names, n)
	}
	for i := range cNames {
		names = append(names, strings.Split(strings.Trim(cNames[i].names, ","), ",")...)
	}
	return sorted(names)
}

// knows tells whether a type name means the same at every point: the language's, C's, or defined by the script.
func (d *definitions) knows(name string) bool {
	t := d.types[name]
	return t != nil && !t.Incomplete || cName(name) != nil || scriptName(name) != nil || scriptType(name) != nil
}
