package clr

import (
	"bytes"
	"fmt"
	"sort"

	"trocar/internal/order"
)

// Code compiled ahead of time: ReadyToRun (docs/design/coreclr/botr/readytorun-format.md of dotnet/runtime).

// native is where the tables of such code are.
type native struct {
	major, minor uint16
	functions    []byte // RuntimeFunctions
	entries      area   // MethodDefEntryPoints
	instances    area   // InstanceEntryPoints
	split        bool   // rarely used parts of methods lie elsewhere
	composite    bool   // the code is in another file, with that of other assemblies
}

// area is the content of a PE section from some address on; offsets in the tables count from its begin.
type area struct {
	data []byte
	at   uint32
}

// Body is the compiled code of a method, or of an instance of a generic one.
type Body struct {
	Addr, Size uint32 // its main part; code of exception handlers is behind it, or elsewhere
	Method     uint32 // its number
	instance   uint32 // where the signature of an instance is, 0: none
}

// Instance tells whether the body is one instance of a generic method, or of a method of a generic type.
func (b *Body) Instance() bool { return b.instance != 0 }

const (
	readyToRun = 0x00525452 // "RTR"

	sectionFunctions = 102
	sectionEntries   = 103
	sectionInstances = 109
	sectionOwner     = 116
	sectionSplit     = 120

	maxNativeSections = 256
	functionSize      = 12 // amd64: begin, end, unwind information
)

// openNative finds the tables; a file without has none.
func (im *Image) openNative(addr, size uint32) error {
	if addr == 0 || size < 16 {
		return nil
	}
	h := im.at(addr, 16)
	if h == nil {
		return fmt.Errorf("%w: its header of compiled code lies outside of the file", errDamaged)
	}
	if u32(h, 0) != readyToRun {
		return nil // of the older format NGEN
	}
	n := &im.native
	n.major, n.minor = u16(h, 4), u16(h, 6)
	count := u32(h, 12)
	if count > maxNativeSections {
		return fmt.Errorf("%w: %d tables of compiled code", errDamaged, count)
	}
	for i := range count {
		s := im.at(addr+16+12*i, 12)
		if s == nil {
			return fmt.Errorf("%w: its table of compiled code is cut short", errDamaged)
		}
		at, size := u32(s, 4), u32(s, 8)
		switch u32(s, 0) {
		case sectionFunctions:
			n.functions = im.at(at, size)
		case sectionEntries:
			n.entries = im.area(at)
		case sectionInstances:
			n.instances = im.area(at)
		case sectionOwner:
			n.composite = true
		case sectionSplit:
			n.split = size > 0
		}
	}
	return nil
}

func (im *Image) area(addr uint32) area {
	s := im.sectionAt(addr)
	if s == nil {
		return area{}
	}
	return area{im.at(s.Addr, s.Stored), addr - s.Addr}
}

// Compiled tells whether the file has code that was compiled ahead of time; why says why none of it is known.
func (im *Image) Compiled() (ok bool, why string) {
	switch {
	case im.native.composite:
		return false, "its code is compiled together with that of other assemblies, in another file (composite)"
	case im.native.major == 0:
		return false, "it has no code that was compiled ahead of time (ReadyToRun)"
	case im.Machine != withEnds:
		return false, fmt.Sprintf("its code is for another system or CPU (machine %#x)", uint16(im.Machine))
	}
	return true, ""
}

// Split tells whether parts of methods that are rarely used lie elsewhere.
func (im *Image) Split() bool { return im.native.split }

// ReadyToRun is the version of the format of the compiled code.
func (im *Image) ReadyToRun() (major, minor int) { return int(im.native.major), int(im.native.minor) }

// Bodies are all that the file has of compiled code, by address. An error is damage; what was read before is there.
func (im *Image) Bodies() ([]Body, error) {
	im.once.Do(func() {
		if ok, _ := im.Compiled(); !ok {
			return
		}
		im.bodies = make([]Body, 0, len(im.native.functions)/functionSize)
		im.err = im.readEntries()
		if err := im.readInstances(); im.err == nil {
			im.err = err
		}
		order.ByKey(im.bodies, func(b *Body) uint64 { return uint64(b.Addr)<<32 | uint64(b.instance) }, nil)
	})
	return im.bodies, im.err
}

// BodyAt is the body that begins at an address.
func (im *Image) BodyAt(addr uint32) (Body, bool) {
	bodies, _ := im.Bodies()
	i := sort.Search(len(bodies), func(i int) bool { return bodies[i].Addr >= addr })
	if i < len(bodies) && bodies[i].Addr == addr {
		return bodies[i], true
	}
	return Body{}, false
}

// add notes the body that begins with a runtime function.
func (im *Image) add(function, method, instance uint32) error {
	n := uint32(len(im.native.functions) / functionSize)
	if function >= n || len(im.bodies) >= 2*int(n) {
		return fmt.Errorf("%w: its table of methods does not fit that of its functions", errDamaged)
	}
	f := im.native.functions[function*functionSize:]
	begin, end := u32(f, 0), u32(f, 4)
	if end <= begin || im.Code(begin, 1) == nil {
		return fmt.Errorf("%w: the code at %#x lies outside of the file", errDamaged, begin)
	}
	im.bodies = append(im.bodies, Body{begin, end - begin, method, instance})
	return nil
}

// readEntries reads the array of the methods that are not generic (NativeFormat::NativeArray).
func (im *Image) readEntries() error {
	a := im.native.entries
	if a.data == nil {
		return nil
	}
	d := decoder{data: a.data, at: a.at}
	head := d.unsigned()
	width, base := head&3, d.at
	count := min(head>>2, im.meta.tables[tMethodDef].count)
	for i := range count {
		var block uint32
		switch width {
		case 0:
			block = d.fixed(base+i/16, 1)
		case 1:
			block = d.fixed(base+i/16*2, 2)
		default:
			block = d.fixed(base+i/16*4, 4)
		}
		d.at = base + block
		if !d.leaf(i) {
			if d.bad {
				return fmt.Errorf("%w: its table of methods", errDamaged)
			}
			continue
		}
		if err := im.add(d.entry(), i+1, 0); d.bad || err != nil {
			return fmt.Errorf("%w: its table of methods", errDamaged)
		}
	}
	return nil
}

// decoder reads the numbers of these tables.
type decoder struct {
	data []byte
	at   uint32
	bad  bool
}

func (d *decoder) fixed(at uint32, n int) (v uint32) {
	if uint64(at)+uint64(n) > uint64(len(d.data)) {
		d.bad = true
		return 0
	}
	for i := range n {
		v |= uint32(d.data[at+uint32(i)]) << (8 * i)
	}
	return v
}

// width is the number of bytes of a number by its first one.
func width(first uint32) int {
	for n := range 4 {
		if first&(1<<n) == 0 {
			return n + 1
		}
	}
	return 5
}

func (d *decoder) unsigned() (v uint32) {
	n := width(d.fixed(d.at, 1))
	if n == 5 {
		v = d.fixed(d.at+1, 4)
	} else {
		v = d.fixed(d.at, n) >> n
	}
	d.at += uint32(n)
	return v
}

func (d *decoder) signed() (v int32) {
	n := width(d.fixed(d.at, 1))
	if n == 5 {
		v = int32(d.fixed(d.at+1, 4))
	} else {
		v = int32(d.fixed(d.at, n)<<(32-8*n)) >> (32 - 7*n)
	}
	d.at += uint32(n)
	return v
}

// leaf goes down the tree of a block of 16 to the value of an index.
func (d *decoder) leaf(i uint32) bool {
	for bit := uint32(8); bit > 0; bit >>= 1 {
		here := d.at
		v := d.unsigned()
		switch {
		case d.bad:
			return false
		case i&bit != 0 && v&2 != 0:
			d.at = here + v>>2
			continue
		case i&bit == 0 && v&1 != 0:
			continue
		}
		return v&3 == 0 && v>>2 == i&15
	}
	return true
}

// entry is the number of a runtime function.
func (d *decoder) entry() uint32 {
	id := d.unsigned()
	if id&1 != 0 {
		return id >> 2
	}
	return id >> 1
}

// readInstances reads the table of instances of generic methods (NativeFormat::NativeHashtable).
func (im *Image) readInstances() error {
	a := im.native.instances
	if a.data == nil {
		return nil
	}
	damaged := fmt.Errorf("%w: its table of instances", errDamaged)
	d := decoder{data: a.data, at: a.at}
	head := d.fixed(d.at, 1)
	shift, size, base := head>>2, head&3, a.at+1
	if d.bad || shift > 24 || size > 2 {
		return damaged
	}
	for bucket := range uint32(1) << shift {
		w := uint32(1) << size
		from, to := d.fixed(base+bucket*w, int(w)), d.fixed(base+(bucket+1)*w, int(w))
		if d.bad {
			return damaged
		}
		for d.at = base + from; d.at < base+to; {
			d.at++ // the low byte of the hash
			here := d.at
			delta := d.signed()
			if d.bad {
				return damaged
			}
			e := decoder{data: d.data, at: here + uint32(delta)}
			if !im.instance(&e) {
				return damaged
			}
		}
	}
	return nil
}

// instanceSignature is what is told of an instance.
type instanceSignature struct {
	method     uint32
	owner      *Type  // with the arguments of its type parameters
	args       []Type // of the method's
	referenced bool   // the method is declared in another assembly
	rest       int    // bytes behind the signature
}

// signature reads that of an instance.
func (im *Image) instanceSignature(d []byte) (s instanceSignature, ok bool) {
	const instantiated, byReference, constrained, owned, context = 0x04, 0x10, 0x20, 0x40, 0x80
	r := reader{data: d}
	flags := r.number()
	elsewhere := flags&context != 0
	if elsewhere {
		r.number()
	}
	if flags&owned != 0 {
		t := r.typ(0)
		s.owner = &t
	}
	s.method = r.number()
	s.referenced = flags&byReference != 0 || elsewhere
	if flags&instantiated != 0 {
		for range min(r.number(), maxGenerics) {
			s.args = append(s.args, r.typ(0))
			if r.bad {
				break
			}
		}
	}
	if flags&constrained != 0 {
		r.typ(0)
	}
	s.rest = len(r.data)
	return s, !r.bad
}

// instance adds the body of an instance.
func (im *Image) instance(d *decoder) bool {
	if uint64(d.at) > uint64(len(d.data)) {
		return false
	}
	at := d.at
	s, ok := im.instanceSignature(d.data[d.at:])
	if !ok {
		return false
	}
	d.at = uint32(len(d.data) - s.rest)
	function := d.entry()
	if d.bad {
		return false
	}
	if s.referenced {
		s.method = 0
	}
	return im.add(function, s.method, at) == nil
}

// Owner is the type that declares a method, by its number.
func (im *Image) Owner(method uint32) uint32 { return im.meta.owner(method, typeMethods) }

// InstanceOf tells what the type parameters of an instance's type and method stand for.
func (im *Image) InstanceOf(b *Body) (owner, method []Type, ok bool) {
	if !b.Instance() {
		return nil, nil, true
	}
	s, ok := im.instanceSignature(im.native.instances.data[b.instance:])
	if !ok {
		return nil, nil, false
	}
	if s.owner != nil {
		owner = s.owner.Args
	}
	return owner, s.args, true
}

// Name is the full name of a body with the types of its parameters: "Ns.Outer+Inner<T>::Method<M>(string,T[])". What
// type parameters stand for in an instance is in place of their names, but not in the list of parameters.
func (im *Image) Name(b *Body) string {
	var s bytes.Buffer
	im.WriteName(&s, b)
	return s.String()
}

// WriteName is Name for who wants many.
func (im *Image) WriteName(s *bytes.Buffer, b *Body) {
	m := &im.meta
	if b.Method == 0 || b.Method > m.tables[tMethodDef].count {
		return
	}
	owner := im.Owner(b.Method)
	ownNames, methodNames := m.generics(tTypeDef, owner), m.generics(tMethodDef, b.Method)
	own, method := ownNames, methodNames
	if b.Instance() {
		args, methodArgs, ok := im.InstanceOf(b)
		if !ok {
			return
		}
		own, method = im.texts(args, own), im.texts(methodArgs, method)
	}
	m.named(s, tTypeDef, owner, len(own), func(i int) { s.WriteString(own[i]) }, true)
	s.WriteString("::")
	s.Write(m.raw(m.cell(tMethodDef, b.Method, methodName)))
	list(s, "<>", len(method), func(i int) { s.WriteString(method[i]) })
	switch sig, ok := im.Signature(b.Method); {
	case !ok:
		s.WriteString("(?)")
	case len(sig.Params) == 0:
		s.WriteString("()")
	default:
		list(s, "()", len(sig.Params), func(i int) { m.typeText(s, &sig.Params[i], ownNames, methodNames) })
	}
}

// texts are types as text; names where they are not known.
func (im *Image) texts(args []Type, names []string) []string {
	if len(args) == 0 {
		return names
	}
	out := make([]string, len(args))
	for i := range args {
		var b bytes.Buffer
		im.meta.typeText(&b, &args[i], nil, nil)
		out[i] = b.String()
	}
	return out
}

// MethodNamed finds a method by its full name.
func (im *Image) MethodNamed(name string) (method uint32, ok bool) {
	for method = 1; method <= im.meta.tables[tMethodDef].count; method++ {
		if im.Name(&Body{Method: method}) == name {
			return method, true
		}
	}
	return 0, false
}

// Static tells whether a method has no this.
func (im *Image) Static(method uint32) bool {
	return im.meta.cell(tMethodDef, method, methodFlags)&0x10 != 0
}

// ParamNames are the names of a method's parameters, as far as they have some.
func (im *Image) ParamNames(method uint32, n int) []string {
	m := &im.meta
	names := make([]string, n)
	to := m.tables[tParam].count + 1
	if method < m.tables[tMethodDef].count {
		to = min(to, m.cell(tMethodDef, method+1, methodParams))
	}
	for row := m.cell(tMethodDef, method, methodParams); row > 0 && row < to; row++ {
		if i := int(m.cell(tParam, row, paramNumber)); i > 0 && i <= n {
			names[i-1] = m.text(m.cell(tParam, row, paramName))
		}
	}
	return names
}
