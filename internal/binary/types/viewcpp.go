package types

import (
	"strconv"
	"strings"
)

// The C++ standard library's types: GCC's libstdc++ (with strings of both ABIs) and LLVM's libc++. What is found by the
// names of members follows changes of layout; a type that has none of the names known here is shown as the structure
// that it is.

// std is the name of a type of the standard library without namespaces and template arguments, and the arguments; ""
// for others.
func (t *Type) std() (name, args string) {
	if t == nil || t.Kind != Struct || t.Lang() != CPlusPlus {
		return "", ""
	}
	rest, ok := strings.CutPrefix(t.Name, "std::")
	if !ok {
		return "", ""
	}
	for _, inline := range []string{"__cxx11::", "__1::", "__debug::"} {
		rest = strings.TrimPrefix(rest, inline)
	}
	name, args, _ = strings.Cut(rest, "<")
	return name, strings.TrimSuffix(args, ">")
}

func (t *Type) cppText() (View, bool) {
	switch name, _ := t.std(); name {
	case "basic_string_view":
		return t.cppView()
	case "basic_string":
		if p, ok := t.member("_M_dataplus", "_M_p"); ok && p.Type.Kind == Pointer {
			unit := max(1, p.Type.Elem.Size)
			if n, ok := t.member("_M_string_length"); ok {
				return View{Data: p.Offset, Len: n.Offset, LenSize: n.Type.Size, Unit: unit}, true
			}
			return View{Data: p.Offset, Len: 24, LenSize: 8, Before: true, Unit: unit}, true
		}
		if v, ok := t.hiddenText(); ok {
			return v, true
		}
		// libc++: the lowest bit of the first byte tells a long string (the layout of little-endian machines).
		long, ok := t.within("__l", 0)
		short, ok2 := t.within("__s", 0)
		if !ok || !ok2 || long.Offset != short.Offset || long.Offset != 0 {
			break
		}
		p, ok := long.Type.member("__data_")
		n, ok2 := long.Type.member("__size_")
		d, ok3 := short.Type.member("__data_")
		if !ok || !ok2 || !ok3 || p.Type.Kind != Pointer || n.Offset == 0 {
			break // another layout
		}
		return View{
			Data: p.Offset, Len: n.Offset, LenSize: n.Type.Size, Unit: max(1, p.Type.Elem.Size), Short: true,
			ShortData: d.Offset,
		}, true
	}
	return View{}, false
}

// hiddenText is libstdc++'s string where clang has left the class that holds the pointer out of the debug information,
// since its constructor is in the library: what lies around it shows that it is the pointer and nothing else.
func (t *Type) hiddenText() (View, bool) {
	p, ok := t.Field("_M_dataplus")
	n, ok2 := t.Field("_M_string_length")
	buf, ok3 := t.member("_M_local_buf")
	if !ok || !ok2 || !ok3 || !p.Type.Complete().Incomplete || !strings.HasSuffix(p.Type.Name, "_Alloc_hider") ||
		p.Offset != 0 || n.Offset != 8 || n.Type.Complete().Size != 8 || buf.Offset != 16 || t.Size != 32 ||
		buf.Type.Complete().Kind != Array {
		return View{}, false
	}
	unit := max(1, buf.Type.Complete().Elem.Complete().Size)
	return View{Len: n.Offset, LenSize: 8, Unit: unit}, true
}

// cppView is a pointer with a length.
func (t *Type) cppView() (View, bool) {
	for _, names := range [][2]string{{"_M_str", "_M_len"}, {"__data_", "__size_"}, {"__data", "__size"}} {
		if v, ok := t.view(names[0], names[1], 0); ok {
			return v, true
		}
	}
	return View{}, false
}

func (t *Type) cppList() (v View, ok bool) {
	name, args := t.std()
	pair := func(first, last Field) (View, bool) {
		if first.Type.Kind != Pointer || first.Type.Elem == nil {
			return View{}, false
		}
		v := View{Data: first.Offset, Len: last.Offset, LenSize: 8, Elem: first.Type.Elem.Complete()}
		return v, v.Elem.Size > 0 && !v.Elem.Incomplete
	}
	switch name {
	case "vector":
		if strings.HasPrefix(args, "bool,") || args == "bool" {
			return t.bits()
		}
		first, ok := t.member("_M_impl", "_M_start")
		last, ok2 := t.member("_M_impl", "_M_finish")
		if !ok || !ok2 {
			first, ok = t.member("__begin_")
			last, ok2 = t.member("__end_")
		}
		if ok && ok2 {
			v, ok = pair(first, last)
			v.End = true
			return v, ok
		}
	case "initializer_list":
		for _, names := range [][2]string{{"_M_array", "_M_len"}, {"__begin_", "__size_"}} {
			p, ok := t.member(names[0])
			n, ok2 := t.member(names[1])
			if ok && ok2 {
				return pair(p, n)
			}
		}
	case "span":
		p, ok := t.member("_M_ptr")
		if !ok {
			if p, ok = t.member("__data"); !ok {
				p, ok = t.member("__data_")
			}
		}
		if !ok {
			break
		}
		for _, names := range [][]string{{"_M_extent", "_M_extent_value"}, {"__size"}, {"__size_"}} {
			if n, ok := t.member(names...); ok {
				return pair(p, n)
			}
		}
		n, err := strconv.Atoi(strings.TrimRight(args[strings.LastIndexByte(args, ' ')+1:], "ul"))
		v, ok = pair(p, p)
		v.Fixed = n
		return v, ok && err == nil && n > 0 && n < 1<<30
	}
	return View{}, false
}

// bits is std::vector<bool>.
func (t *Type) bits() (View, bool) {
	if p, ok := t.member("_M_impl", "_M_start", "_M_p"); ok {
		end, ok := t.member("_M_impl", "_M_finish", "_M_p")
		tail, ok2 := t.member("_M_impl", "_M_finish", "_M_offset")
		v := View{Data: p.Offset, Len: end.Offset, LenSize: 8, End: true, Bits: true, Tail: tail.Offset, Elem: TCBool}
		return v, ok && ok2 && tail.Type.Size == 4
	}
	p, ok := t.member("__begin_")
	n, ok2 := t.member("__size_")
	return View{Data: p.Offset, Len: n.Offset, LenSize: 8, Bits: true, Elem: TCBool}, ok && ok2 && p.Type.Kind == Pointer
}

// NoOptional is the name of std::optional's variant that holds nothing.
const NoOptional = "nullopt"

// maxAlternatives bounds the types of a std::variant.
const maxAlternatives = 32

// cppAlternatives are the contents of std::optional, which have no name, and of std::variant.
func (t *Type) cppAlternatives() *Variants {
	switch name, _ := t.std(); name {
	case "optional":
		full, ok := t.member("_M_payload", "_M_engaged")
		value, ok2 := t.member("_M_payload", "_M_payload", "_M_value")
		if !ok || !ok2 {
			full, ok = t.member("__engaged_")
			value, ok2 = t.member("__val_")
		}
		if !ok || !ok2 || full.Type.Size != 1 {
			return nil
		}
		return &Variants{Discr: full, List: []Variant{
			{Name: NoOptional, Discrs: []VariantRange{{}}},
			{Type: value.Type, Offset: value.Offset, Default: true},
		}}
	case "variant":
		index, ok := t.within("_M_index", 0)
		at, ok2 := t.within("_M_u", 0)
		first, value, rest := "_M_first", "_M_storage", "_M_rest"
		if !ok || !ok2 {
			index, ok = t.within("__index", 0)
			at, ok2 = t.within("__data", 0)
			first, value, rest = "__head", "__value", "__tail"
		}
		if !ok || !ok2 || index.Type.Kind != Int {
			return nil
		}
		vs := &Variants{Discr: index}
		for len(vs.List) < maxAlternatives {
			one, ok := at.Type.member(first, value)
			if !ok {
				break
			}
			if inner := one.Type.Complete(); strings.HasPrefix(inner.Name, "__gnu_cxx::__aligned_membuf<") && inner.Elem != nil {
				one.Type = inner.Elem.Complete()
			}
			n := uint64(len(vs.List))
			vs.List = append(vs.List, Variant{
				Type: one.Type.Complete(), Offset: at.Offset + one.Offset,
				Discrs: []VariantRange{{n, n}},
			})
			next, ok := at.Type.member(rest)
			if !ok {
				break
			}
			next.Offset += at.Offset
			at = next
		}
		if len(vs.List) == 0 {
			return nil
		}
		vs.List = append(vs.List, Variant{Name: "valueless", Default: true})
		return vs
	}
	return nil
}

// Held is the part of a value that is shown for the whole: the pointer in a smart pointer of C++, which has no name,
// what a thin wrapper wraps, and the number of elements of a container whose elements are in a tree or table.
func (t *Type) Held() (Field, bool) {
	name, _ := t.std()
	if name == "" {
		return Field{}, false
	}
	var f Field
	var ok bool
	only := func(paths ...[]string) (Field, bool) {
		for _, p := range paths {
			if f, ok := t.member(p...); ok {
				f.Name = ""
				return f, true
			}
		}
		return Field{}, false
	}
	size := func(paths ...[]string) (Field, bool) {
		f, ok := only(paths...)
		f.Name = "size"
		return f, ok && f.Type.Kind == Int && f.Type.Size == 8
	}
	switch name {
	case "unique_ptr":
		f, ok = t.pointer(0)
	case "shared_ptr", "weak_ptr":
		f, ok = only([]string{"_M_ptr"}, []string{"__ptr_"})
	case "function":
		// What manages the content, by its name: it has the content's type. None: it is empty.
		f, ok = only([]string{"_M_manager"})
	case "array":
		f, ok = only([]string{"_M_elems"}, []string{"__elems_"})
		f.Name = ""
		return f, ok && f.Type.Kind == Array
	case "stack", "queue", "priority_queue":
		f, ok = only([]string{"c"})
		return f, ok
	case "complex":
		f, ok = only([]string{"_M_value"})
		return f, ok
	case "atomic":
		f, ok = only([]string{"_M_i"}, []string{"_M_base", "_M_i"}, []string{"_M_b", "_M_p"}, []string{"__a_", "__a_value"})
		return f, ok
	case "chrono::time_point":
		f, ok = only([]string{"__d"}, []string{"__d_"})
		return f, ok
	case "map", "set", "multimap", "multiset":
		return size([]string{"_M_t", "_M_impl", "_M_node_count"}, []string{"__tree_", "__pair3_", "__value_"},
			[]string{"__tree_", "__size_"})
	case "unordered_map", "unordered_set", "unordered_multimap", "unordered_multiset":
		return size([]string{"_M_h", "_M_element_count"}, []string{"__table_", "__p2_", "__value_"},
			[]string{"__table_", "__size_"})
	case "list":
		return size([]string{"_M_impl", "_M_node", "_M_size"}, []string{"_M_impl", "_M_node", "_M_storage"},
			[]string{"__size_alloc_", "__value_"}, []string{"__size_"})
	}
	f.Name = ""
	return f, ok && f.Type.Kind == Pointer
}

// Deque tells where the parts of a std::deque are. In libstdc++ the number of its elements follows from them; libc++
// has that at Count, the number of the first one in the first block at Start, and a pointer to the blocks at Blocks.
type Deque struct {
	StartCur, StartFirst, StartLast, StartNode   int
	FinishCur, FinishFirst, FinishNode, ElemSize int

	PerBlock             int // elements of a block; 0: it is libstdc++'s
	Blocks, Start, Count int
}

// Deque finds the parts.
func (t *Type) Deque() (d Deque, ok bool) {
	if name, _ := t.std(); name != "deque" {
		return d, false
	}
	if _, ok := t.member("__map_"); ok {
		return t.libcxxDeque()
	}
	ok = true
	var elem *Type
	at := func(iterator, part string) int {
		f, found := t.member("_M_impl", iterator, part)
		if ok = ok && found && f.Type.Kind == Pointer; ok && part == "_M_cur" {
			elem = f.Type.Elem.Complete()
		}
		return f.Offset
	}
	d = Deque{
		StartCur: at("_M_start", "_M_cur"), StartFirst: at("_M_start", "_M_first"),
		StartLast: at("_M_start", "_M_last"), StartNode: at("_M_start", "_M_node"),
		FinishCur: at("_M_finish", "_M_cur"), FinishFirst: at("_M_finish", "_M_first"),
		FinishNode: at("_M_finish", "_M_node"),
	}
	if ok = ok && elem != nil && elem.Size > 0; ok {
		d.ElemSize = elem.Size
	}
	return d, ok
}

// libcxxDeque finds the parts of libc++'s (deque: __deque_block_size).
func (t *Type) libcxxDeque() (d Deque, ok bool) {
	f := finder{ok: true}
	blocks, start := f.field(t, "__map_", "__begin_"), f.field(t, "__start_")
	count, ok := t.libcxxNumber("__size_")
	if !f.ok || !ok || blocks.Type.Kind != Pointer || start.Type.Size != 8 || t.Source.Key == nil {
		return d, false
	}
	size := t.Source.Key.Complete().Size
	if size <= 0 {
		return d, false
	}
	d = Deque{ElemSize: size, Blocks: blocks.Offset, Start: start.Offset, Count: count.Offset, PerBlock: 16}
	if size < 256 {
		d.PerBlock = 4096 / size
	}
	return d, true
}

// libcxxNumber is a number of libc++'s: it lies alone, or in a pair beside something without size.
func (t *Type) libcxxNumber(names ...string) (Field, bool) {
	n, ok := t.member(names...)
	if inner, is := t.member(append(names[:len(names):len(names)], "__value_")...); is {
		n, ok = inner, true
	}
	return n, ok && n.Type.Complete().Kind == Int && n.Type.Complete().Size == 8
}

// TupleOfCPP gives the elements of a std::tuple in the order of their positions, as fields of it.
func (t *Type) TupleOfCPP() (fields []Field, ok bool) {
	if name, args := t.std(); name != "tuple" || args == "" {
		return nil, false
	}
	at := 0
	level := t
	if base, ok := t.member("__base_"); ok { // libc++: a leaf for each element, in order
		for _, f := range base.Type.Complete().Fields {
			v, ok := f.Type.Complete().member("__value_")
			if !ok {
				return nil, false
			}
			fields = append(fields, Field{Type: v.Type.Complete(), Offset: base.Offset + f.Offset + v.Offset})
		}
		return fields, len(fields) > 0
	}
	// libstdc++: std::_Tuple_impl<0, A, B> has A as a base, and inherits std::_Tuple_impl<1, B>.
	for len(fields) < 64 {
		var rest, head *Field
		for i := range level.Fields {
			f := &level.Fields[i]
			switch {
			case f.Base && strings.HasPrefix(f.Type.Name, "std::_Tuple_impl<"):
				rest = f
			case f.Base && strings.HasPrefix(f.Type.Name, "std::_Head_base<"):
				head = f
			}
		}
		if head != nil {
			v, ok := head.Type.Complete().member("_M_head_impl")
			if !ok {
				return nil, false // an empty class
			}
			fields = append(fields, Field{Type: v.Type.Complete(), Offset: at + head.Offset + v.Offset})
		}
		if rest == nil {
			break
		}
		at += rest.Offset
		level = rest.Type.Complete()
	}
	return fields, len(fields) > 0
}

// Duration tells a std::chrono::duration: its number, and the unit as a fraction of a second.
func (t *Type) Duration() (count Field, num, den int64, ok bool) {
	name, args := t.std()
	if strings.TrimPrefix(name, "chrono::") != "duration" || !strings.HasPrefix(name, "chrono::") {
		return count, 0, 0, false
	}
	if count, ok = t.member("__r"); !ok {
		count, ok = t.member("__rep_")
	}
	i := strings.LastIndex(args, "ratio<")
	if !ok || i < 0 || count.Type.Kind != Int || count.Type.Size > 8 {
		return count, 0, 0, false
	}
	parts := strings.Split(strings.Trim(args[i+len("ratio<"):], "> "), ",")
	den = 1
	for j, p := range parts {
		n, err := strconv.ParseInt(strings.TrimRight(strings.TrimSpace(p), "lL"), 10, 64)
		if err != nil || n <= 0 || j > 1 {
			return count, 0, 0, false
		}
		if j == 0 {
			num = n
		} else {
			den = n
		}
	}
	return count, num, den, true
}

// Polymorphic tells a class of C++ whose objects begin with the pointer to a virtual table.
func (t *Type) Polymorphic() bool {
	for range maxBases {
		if t = t.Complete(); t == nil || t.Kind != Struct || t.Incomplete || t.Lang() != CPlusPlus {
			return false
		}
		var first *Field
		for i := range t.Fields {
			f := &t.Fields[i]
			if f.Artificial && strings.HasPrefix(f.Name, "_vptr") && f.Offset == 0 {
				return true
			}
			// An empty base lies there as well.
			if f.Base && f.Offset == 0 && (first == nil || f.Type.Polymorphic()) {
				first = f
			}
		}
		if first == nil {
			return false
		}
		t = first.Type
	}
	return false
}

// maxBases bounds how far it is looked for the first base class.
const maxBases = 64

// Closure tells a pointer to what a lambda of C++ has captured: a class without a name.
func (t *Type) Closure() bool {
	if t = t.Complete(); t == nil || t.Kind != Pointer || t.Lang() != CPlusPlus {
		return false
	}
	to := t.Elem.Complete()
	return to != nil && to.Kind == Struct && (to.Name == "" || strings.HasPrefix(to.Name, "<lambda"))
}

// within finds a member by its name anywhere inside a value, also in named members.
func (t *Type) within(name string, depth int) (Field, bool) {
	t = t.Complete()
	if f, ok := t.Field(name); ok {
		return f, true
	}
	if depth > 8 || t.Kind != Struct && t.Kind != Union {
		return Field{}, false
	}
	for _, f := range t.Fields {
		if f.Type == nil {
			continue
		}
		if g, ok := f.Type.within(name, depth+1); ok {
			g.Offset += f.Offset
			return g, true
		}
	}
	return Field{}, false
}
