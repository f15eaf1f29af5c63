package types

import "strings"

// Containers whose elements are in nodes or tables of their own, one behind the other only by links: those of
// libstdc++ and libc++, and of Rust's library.

// WalkKind is how the elements of a container are found.
type WalkKind uint8

// Ways to the elements.
const (
	WalkChain WalkKind = iota // from First by Next
	WalkTree                  // a binary tree in order, from the leftmost at First
	WalkTable                 // hashbrown's: a byte for each place, whose highest bit is 0 if an element is there
	WalkBTree                 // Rust's BTreeMap
	WalkDeque                 // std::deque: see Deque
)

// Walk tells where the elements of a container are. Offsets are those in the container, but for those of nodes.
type Walk struct {
	Kind  WalkKind
	Count Field // the number of elements; of no type: it is not kept
	First int   // of the pointer to the first node; WalkTable: to the bytes; WalkBTree: to the root

	// Value is the offset of an element in its node. Of a map, that is the key, and Second where its value is; else Second
	// is -1.
	Value, Second int
	Key, Item     *Type // what is there; Item: of maps

	Next, Left, Right, Parent int // of the pointers in a node

	Mask, Size int // WalkTable: of the number of places - 1; the distance of elements, which lie in front of the bytes

	// WalkBTree: of the root's height; in a node those of the number of elements, of its index in its parent, and of the
	// pointers to the nodes below; the distances of keys and values.
	Height, Len, Index, Edges int
	KeyStep, ValueStep        int

	Deque Deque // WalkDeque
}

// nodeContainers are the containers of C++ that have their elements in nodes.
var nodeContainers = []string{
	"map", "multimap", "set", "multiset", "unordered_map", "unordered_multimap", "unordered_set", "unordered_multiset",
	"list",
	"forward_list", "deque",
}

// OfNodes tells the containers of C++ whose type arguments are needed to find their elements.
func (t *Type) OfNodes() bool {
	name, _ := t.std()
	for _, c := range nodeContainers {
		if name == c {
			return true
		}
	}
	return false
}

// Walk tells how to reach the elements of a container; false for other types, and for layouts that are not known.
func (t *Type) Walk() (w Walk, ok bool) {
	if t == nil || t.Kind != Struct {
		return w, false
	}
	switch t.Lang() {
	case CPlusPlus:
		return t.cppWalk()
	case Rust:
		return t.rustWalk()
	}
	return w, false
}

func (t *Type) cppWalk() (w Walk, ok bool) {
	name, _ := t.std()
	if !t.OfNodes() || t.Source.Key == nil {
		return w, false
	}
	links := 0 // bytes of a node in front of its element
	f := finder{ok: true}
	libcxx := func(member string) bool { _, ok := t.member(member); return ok }
	switch name {
	case "map", "multimap", "set", "multiset":
		if libcxx("__tree_") {
			w, links, f.ok = t.libcxxTree()
			break
		}
		// stl_tree.h: a header node whose left is the first element's.
		w.Kind, w.Count = WalkTree, f.field(t, "_M_t", "_M_impl", "_M_node_count")
		header := f.field(t, "_M_t", "_M_impl", "_M_header")
		w.Left, w.Right, w.Parent = f.at(header.Type, "_M_left"), f.at(header.Type, "_M_right"),
			f.at(header.Type, "_M_parent")
		w.First, links = header.Offset+w.Left, header.Type.Size
	case "unordered_map", "unordered_multimap", "unordered_set", "unordered_multiset":
		if libcxx("__table_") {
			w, links, f.ok = t.libcxxTable()
			break
		}
		// hashtable.h: all elements are in one chain.
		w.Count = f.field(t, "_M_h", "_M_element_count")
		first := f.field(t, "_M_h", "_M_before_begin", "_M_nxt")
		w.First, links = first.Offset, 8
	case "deque":
		d, ok := t.Deque()
		w = Walk{Kind: WalkDeque, Deque: d, Key: t.Source.Key.Complete(), Second: -1}
		return w, ok && w.Key.Size > 0
	case "forward_list":
		if libcxx("__before_begin_") {
			first, ok := t.libcxxLink("__before_begin_")
			w.First, links, f.ok = first.Offset, 8, ok
			break
		}
		w.First, links = f.at(t, "_M_impl", "_M_head", "_M_next"), 8
	case "list":
		if libcxx("__end_") { // its links are those of a node: __prev_, __next_
			w.First, w.Next = f.at(t, "__end_", "__next_"), f.at(f.field(t, "__end_").Type, "__next_")
			size, ok1 := t.libcxxNumber("__size_alloc_")
			if !ok1 {
				size, ok1 = t.libcxxNumber("__size_")
			}
			w.Count, links, f.ok = size, f.field(t, "__end_").Type.Complete().Size, f.ok && ok1
			break
		}
		w.Count = f.field(t, "_M_impl", "_M_node", "_M_size")
		w.First, links = f.at(t, "_M_impl", "_M_node", "_M_next"), 16
	default:
		return w, false
	}
	w.Key = t.Source.Key.Complete()
	w.Second = -1
	align := w.Key.alignment()
	if strings.HasSuffix(name, "map") {
		if t.Source.Item == nil {
			return w, false
		}
		w.Item = t.Source.Item.Complete()
		align = max(align, w.Item.alignment())
		w.Second = roundUp(w.Key.Size, w.Item.alignment()) // std::pair
	}
	w.Value = roundUp(links, align)
	if w.Second >= 0 {
		w.Second += w.Value
	}
	known := w.Key.Size > 0 && !w.Key.Incomplete && (w.Item == nil || w.Item.Size > 0 && !w.Item.Incomplete)
	return w, f.ok && known && (w.Count.Type == nil || w.Count.Type.Kind == Int && w.Count.Type.Size == 8)
}

// libcxxTree finds the nodes of libc++'s trees (__tree): a pointer to the first, and a node of which only the left link
// is there, whose left is the root. The nodes have left, right, parent and a byte for the colour, behind which the
// element begins: what that leaves of a word is used.
func (t *Type) libcxxTree() (w Walk, links int, ok bool) {
	first, ok1 := t.member("__tree_", "__begin_node_")
	count, ok2 := t.libcxxNumber("__tree_", "__pair3_")
	end, ok3 := t.member("__tree_", "__pair1_", "__value_", "__left_")
	if !ok2 {
		count, ok2 = t.libcxxNumber("__tree_", "__size_")
	}
	if !ok3 {
		end, ok3 = t.member("__tree_", "__end_node_", "__left_")
	}
	w = Walk{Kind: WalkTree, Count: count, First: first.Offset, Left: 0, Right: 8, Parent: 16}
	return w, 25, ok1 && ok2 && ok3 && first.Type.Kind == Pointer && end.Type.Kind == Pointer
}

// libcxxTable finds the nodes of libc++'s hash tables (__hash_table), which are in one chain; each has a link and a
// hash in front of its element.
func (t *Type) libcxxTable() (w Walk, links int, ok bool) {
	first, ok1 := t.libcxxLink("__table_", "__p1_")
	count, ok2 := t.libcxxNumber("__table_", "__p2_")
	if !ok1 {
		first, ok1 = t.libcxxLink("__table_", "__first_node_")
	}
	if !ok2 {
		count, ok2 = t.libcxxNumber("__table_", "__size_")
	}
	return Walk{Count: count, First: first.Offset}, 16, ok1 && ok2
}

// libcxxLink is the link in the head of a chain.
func (t *Type) libcxxLink(names ...string) (Field, bool) {
	p, ok := t.member(append(names[:len(names):len(names)], "__value_", "__next_")...)
	if !ok {
		p, ok = t.member(append(names[:len(names):len(names)], "__next_")...)
	}
	return p, ok && p.Type.Kind == Pointer
}

// alignment is that of a type; of those where it is not known, by the size.
func (t *Type) alignment() int {
	if t.Align > 0 {
		return t.Align
	}
	return 8
}

func roundUp(n, align int) int { return (n + align - 1) / align * align }

func (t *Type) rustWalk() (w Walk, ok bool) {
	base, _, _ := strings.Cut(t.Name, "<")
	w.Second = -1
	switch base {
	case "std::collections::hash::map::HashMap", "hashbrown::map::HashMap", "std::collections::hash::set::HashSet",
		"hashbrown::set::HashSet":
		table, ok := t.rawTable(0)
		if !ok || table.Type.Elem == nil {
			return w, false
		}
		entry := table.Type.Elem.Complete()
		in := func(name string) (Field, bool) {
			f, ok := table.Type.named(name, 0)
			f.Offset += table.Offset
			return f, ok && f.Type.Size == 8
		}
		items, ok1 := in("items")
		mask, ok2 := in("bucket_mask")
		ctrl, ok3 := in("ctrl")
		key, ok4 := entry.Field("__0")
		value, ok5 := entry.Field("__1")
		if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || entry.Size <= 0 {
			return w, false
		}
		w.Kind, w.Count, w.Mask, w.First, w.Size = WalkTable, items, mask.Offset, ctrl.Offset, entry.Size
		w.Key, w.Value = key.Type.Complete(), key.Offset
		if !strings.HasSuffix(base, "Set") {
			w.Item, w.Second = value.Type.Complete(), value.Offset
		}
		return w, true
	case "alloc::collections::btree::map::BTreeMap", "alloc::collections::btree::set::BTreeSet":
		return t.btreeWalk(strings.HasSuffix(base, "Set"))
	case "alloc::collections::linked_list::LinkedList":
		head, ok1 := t.Field("head")
		n, ok2 := t.Field("len")
		if !ok1 || !ok2 {
			return w, false
		}
		some, ok := head.Type.some()
		p, ok2 := some.Type.pointer(0)
		if !ok || !ok2 || p.Type.Elem == nil || n.Type.Size != 8 {
			return w, false
		}
		node := p.Type.Elem.Complete()
		next, ok1 := node.Field("next")
		element, ok2 := node.Field("element")
		w.Count, w.First, w.Next, w.Value = n, head.Offset+some.Offset+p.Offset, next.Offset, element.Offset
		if !ok1 || !ok2 {
			return w, false
		}
		w.Key = element.Type.Complete()
		return w, w.Key.Size > 0
	}
	return w, false
}

// rawTable finds hashbrown's table in a value.
func (t *Type) rawTable(depth int) (Field, bool) {
	t = t.Complete()
	if depth > 8 || t.Kind != Struct {
		return Field{}, false
	}
	if strings.HasPrefix(t.Name, "hashbrown::raw::RawTable<") {
		return Field{Type: t}, true
	}
	for _, f := range t.Fields {
		if n, ok := f.Type.rawTable(depth + 1); ok {
			n.Offset += f.Offset
			return n, true
		}
	}
	return Field{}, false
}

// btreeWalk is how the elements of a BTreeMap are found: in leaves of up to 11, and in the nodes above (btree/node.rs).
func (t *Type) btreeWalk(set bool) (w Walk, ok bool) {
	count, ok := t.named("length", 0)
	height, node, ok2 := t.btreeRoot()
	if !ok || !ok2 || node.Type.Elem == nil || count.Type.Size != 8 {
		return w, false
	}
	leaf := node.Type.Elem.Complete()
	f := finder{ok: true}
	keys, values := f.field(leaf, "keys"), f.field(leaf, "vals")
	n, index, parent := f.field(leaf, "len"), f.field(leaf, "parent_idx"), f.field(leaf, "parent")
	if !f.ok || keys.Type.Kind != Array || values.Type.Kind != Array || n.Type.Size != 2 || index.Type.Size != 2 ||
		parent.Type.Size != 8 {
		return w, false
	}
	w = Walk{
		Kind: WalkBTree, Count: count, First: node.Offset, Height: height.Offset, Len: n.Offset, Index: index.Offset,
		Parent: parent.Offset, Edges: roundUp(leaf.Size, 8), Value: keys.Offset, Second: -1,
	}
	if w.Key, ok = keys.Type.Elem.held(); !ok {
		return w, false
	}
	w.KeyStep = keys.Type.Elem.Complete().Size
	if !set {
		if w.Item, ok = values.Type.Elem.held(); !ok {
			return w, false
		}
		w.Second, w.ValueStep = values.Offset, values.Type.Elem.Complete().Size
	}
	return w, w.Key.Size > 0
}

// held is the type of what a MaybeUninit may hold.
func (t *Type) held() (*Type, bool) {
	t = t.Complete()
	if t == nil || !t.MayBeEmpty() {
		return nil, false
	}
	f, ok := t.Field("value")
	return f.Type.Complete(), ok
}

// some is what an Option holds.
func (t *Type) some() (Field, bool) {
	vs := t.Complete().Alternatives()
	if vs == nil {
		return Field{}, false
	}
	for i := range vs.List {
		v := &vs.List[i]
		if v.Name != "Some" || v.Type == nil {
			continue
		}
		f, ok := v.Type.Complete().Field("__0")
		f.Offset += v.Offset
		return f, ok
	}
	return Field{}, false
}

// btreeRoot finds the height of the root of a BTreeMap and the pointer to it.
func (t *Type) btreeRoot() (height, node Field, ok bool) {
	root, ok := t.named("root", 0)
	if !ok {
		return height, node, false
	}
	some, ok := root.Type.some()
	if !ok {
		return height, node, false
	}
	ref := some.Type.Complete()
	h, ok1 := ref.Field("height")
	n, ok2 := ref.Field("node")
	if !ok1 || !ok2 || h.Type.Size != 8 {
		return height, node, false
	}
	p, ok := n.Type.pointer(0)
	at := root.Offset + some.Offset
	h.Offset += at
	p.Offset += at + n.Offset
	return h, p, ok
}
