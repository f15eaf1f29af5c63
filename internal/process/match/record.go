package match

import (
	"fmt"
	"strconv"
	"strings"

	"trocar/internal/binary/types"
)

// recordTypes makes types of the declarations in a description of a tracepoint's record.
type recordTypes struct {
	space types.Space                   // where its pointers point
	named func(name string) *types.Type // finds a type of the kernel; nil: none is known
	words bool                          // numbers are kept as the words that a system call was given, whatever their type
}

// maxRecord is the largest record the kernel makes (PERF_MAX_TRACE_SIZE is 8192).
const maxRecord = 1 << 16

// field reads one line of a description.
func (r recordTypes) field(line string) (f types.Field, size int, err error) {
	part := func(key string) string {
		_, rest, _ := strings.Cut(line, key)
		value, _, _ := strings.Cut(rest, ";")
		return value
	}
	decl := part("field:")
	offset, err1 := strconv.Atoi(part("offset:"))
	size, err2 := strconv.Atoi(part("size:"))
	if err1 != nil || err2 != nil || offset < 0 || size < 0 || offset+size > maxRecord {
		return f, 0, fmt.Errorf("unrecognised field: %q", line)
	}
	signed := part("signed:") == "1"
	i := strings.LastIndexAny(decl, " \t*")
	if i < 0 {
		return f, 0, fmt.Errorf("unrecognised field: %q", line)
	}
	typ, name := plainType(decl[:i+1]), decl[i+1:]
	f.Offset = offset

	length := -1
	if j := strings.IndexByte(name, '['); j >= 0 {
		length = 0
		if n, err := strconv.Atoi(strings.TrimSuffix(name[j+1:], "]")); err == nil {
			length = n
		}
		name = name[:j]
	}
	f.Name = name
	switch {
	case strings.HasPrefix(typ, "__rel_loc"):
		// Relative to the field itself: not the form that DataLoc stands for.
		f.Type = types.IntOf(4, false)
	case strings.HasPrefix(typ, "__data_loc"):
		elem := strings.TrimSuffix(strings.TrimPrefix(typ, "__data_loc"), "[]")
		f.Type, f.DataLoc = types.PointerTo(r.pointee(plainType(elem), types.Kernel), types.Kernel), true
	case length >= 0:
		f.Type = r.array(typ, length, size, signed)
	case strings.HasSuffix(typ, "*") && size == 8:
		f.Type = r.pointee(typ, r.space)
	default:
		f.Type = r.value(typ, size, signed)
		if t := r.inWord(typ); r.words && size == 8 && t != nil {
			f.Type = namedInt(typ, t.Size, t.Signed)
		}
	}
	return f, size, nil
}

// inWord is the integer that the kernel takes out of a word for a system call's parameter of a type: it converts to the
// type and so ignores what is above (SYSCALL_DEFINE). Nil: the type is not known.
func (r recordTypes) inWord(typ string) *types.Type {
	t := knownInt(typ)
	if t == nil && r.named != nil {
		t = r.named(typ)
	}
	if t == nil {
		return nil
	}
	if t = t.Complete(); t.Kind == types.Int && (t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8) {
		return t
	}
	return nil
}

// array is a field of several elements; their size is not told, but follows from the number.
func (r recordTypes) array(typ string, length, size int, signed bool) *types.Type {
	if length == 0 || size%length != 0 {
		return types.ArrayOf(types.TUint8, size)
	}
	return types.ArrayOf(r.value(typ, size/length, signed), length)
}

// value is a number of a size that the description tells, or bytes that nothing is known of.
func (r recordTypes) value(typ string, size int, signed bool) *types.Type {
	if strings.HasPrefix(typ, "enum ") && r.named != nil {
		if t := r.named(typ); t != nil && t.Size == size {
			return t
		}
	}
	switch size {
	case 1, 2, 4, 8:
		return namedInt(typ, size, signed)
	}
	return types.ArrayOf(types.TUint8, size)
}

// plainType takes qualifiers and attributes out of a type's spelling, none of which say what memory holds.
func plainType(typ string) string {
	for {
		i := strings.Index(typ, "__attribute__((")
		if i < 0 {
			break
		}
		end := strings.Index(typ[i:], "))")
		if end < 0 {
			break
		}
		for end += i + 2; end < len(typ) && typ[end] == ')'; end++ {
		}
		typ = typ[:i] + " " + typ[end:]
	}
	var words []string
	for _, w := range strings.Fields(strings.ReplaceAll(typ, "*", " * ")) {
		switch w {
		case "const", "volatile", "restrict", "__user", "__rcu", "__percpu", "__seg_gs":
		default:
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// namedInt is an integer with the name that the kernel uses for it.
func namedInt(name string, size int, signed bool) *types.Type {
	switch {
	case name == "bool" && size == 1:
		return types.TCBool
	case name == "char" && size == 1:
		return types.TChar
	}
	return &types.Type{Kind: types.Int, Name: name, Size: size, Align: size, Signed: signed}
}

// knownInts are the names of integers that parameters of system calls are, and that records have pointers to, so that
// the kernel's types need not be asked: in a text, each with a comma on both sides.
var knownInts = []struct {
	t     *types.Type
	names string
}{
	{types.TInt32, ",int,pid_t,key_serial_t,clockid_t,timer_t,mqd_t,key_t,rwf_t,s32,"},
	{types.TUint32, ",unsigned int,unsigned,uid_t,gid_t,u32,__u32,qid_t,"},
	{types.TInt64, ",long,loff_t,off_t,s64,"},
	{types.TUint64, ",unsigned long,size_t,u64,__u64,aio_context_t,"},
	{types.TInt16, ",short,s16,"},
	{types.TUint16, ",unsigned short,u16,__u16,umode_t,"},
	{types.TUint8, ",unsigned char,u8,__u8,"},
	{types.TInt8, ",signed char,s8,"},
}

func knownInt(name string) *types.Type {
	for i := range knownInts {
		if strings.Contains(knownInts[i].names, ","+name+",") {
			return knownInts[i].t
		}
	}
	return nil
}

// maxStars bounds pointers to pointers.
const maxStars = 8

// pointee is the type of what lies in memory, from its spelling; void if it is not known.
func (r recordTypes) pointee(typ string, space types.Space) *types.Type {
	stars := 0
	for strings.HasSuffix(typ, "*") && stars < maxStars {
		typ = strings.TrimSpace(typ[:len(typ)-1])
		stars++
	}
	t := r.pointed(typ)
	for range stars {
		t = types.PointerTo(t, space)
	}
	return t
}

func (r recordTypes) pointed(typ string) *types.Type {
	switch {
	case typ == "char":
		return types.TChar
	case typ == "" || typ == "void" || strings.HasSuffix(typ, "*"):
		return types.TVoid
	case knownInt(typ) != nil:
		return knownInt(typ)
	case strings.HasPrefix(typ, "struct "), strings.HasPrefix(typ, "union "):
		// Looked up when somebody looks into it.
		t := &types.Type{Kind: types.Struct, Name: typ, Align: 1, Incomplete: true}
		if typ[0] == 'u' {
			t.Kind = types.Union
		}
		if r.named == nil {
			return t
		}
		return types.Stub(t, func() *types.Type { return r.named(typ) })
	case r.named != nil:
		if t := r.named(typ); t != nil {
			return t
		}
	}
	return types.TVoid
}
