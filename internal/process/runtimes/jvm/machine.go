package jvm

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"trocar/internal/binary/abi"
	"trocar/internal/binary/objfile"
	"trocar/internal/binary/types"
	"trocar/internal/process/runtimes/remote"
	"trocar/internal/process/target"
)

// machine is a virtual machine at work: its classes, their methods, and where the code of these is.
type machine struct {
	arch *abi.Arch
	m    *remote.Memory
	file *os.File
	off  offsets
	// offsets: where code begins and ends is told by distances, of 16 and 32 bits, and not by addresses (JDK 23).
	offsets bool
	// entries is the size of what is in front of the entries of a pool of constants.
	entries uint64
	cache   cache
	known   map[uint64]string      // names of classes
	typed   map[string]*types.Type // types of values, by descriptors
	// Objects are as types.JavaObject has them.
	layout types.JavaLayout
	lists  fieldLists
	named  map[string][]uint64 // classes by their names, once they are asked for
	// virtual is where the state of the class of virtual threads is, and what that is when there may be some; 0: there are
	// none in this version.
	virtual, initialized uint64
	texts                string // why texts cannot be read, "": they can
	interpreter          uint64 // where a method has the address that the interpreter begins its calls at; 0: nowhere
}

// offsets are those of the fields that names has, in the same order.
type offsets [fields]uint64

// Fields of the virtual machine's structures.
const (
	head           = iota // the list of class loaders
	nextLoader            // in one of these
	klasses               // its first class
	nextKlass             // in a class
	className             // the same
	layoutHelper          // below 0: it is that of arrays
	methodList            // Array<Method*>
	constantPool          //
	constMethod           // in a method: what of it does not change
	compiled              // its code
	access                // its flags
	poolOf                // in what does not change
	nameIndex             //
	signatureIndex        //
	constSize             //
	constFlags            //
	length                // in a Symbol
	body                  //
	entryBCI              // in compiled code: the loop that it is for
	verified              // where it begins, the class of the object being known
	level                 //
	methodOf              //
	codeBegin             //
	codeEnd               //
	poolHolder            // the class that a pool is of
	stubs                 // in compiled code: where what is behind its instructions begins
	intrinsic             // of a method: the number of what compilers have in its place, 0: nothing
	fields
)

// names of the fields, with those that they have in other versions.
const names = "ClassLoaderDataGraph::_head ClassLoaderData::_next ClassLoaderData::_klasses Klass::_next_link " +
	"Klass::_name Klass::_layout_helper InstanceKlass::_methods InstanceKlass::_constants Method::_constMethod " +
	"Method::_code Method::_access_flags ConstMethod::_constants ConstMethod::_name_index " +
	"ConstMethod::_signature_index ConstMethod::_constMethod_size ConstMethod::_flags,ConstMethod::_flags._flags " +
	"Symbol::_length Symbol::_body[0],Symbol::_body nmethod::_entry_bci " +
	"nmethod::_verified_entry_point,nmethod::_verified_entry_offset nmethod::_comp_level " +
	"CompiledMethod::_method,nmethod::_method CodeBlob::_code_begin,CodeBlob::_code_offset " +
	"CodeBlob::_code_end,CodeBlob::_data_offset ConstantPool::_pool_holder nmethod::_stub_offset " +
	"Method::_intrinsic_id"

// library is the code of the virtual machine in a process; nil: there is none.
func library(maps []target.Mapping) *target.Mapping {
	for i := range maps {
		if m := &maps[i]; m.Perm&target.Exec != 0 && m.IsFile() && path.Base(m.Path) == "libjvm.so" {
			return m
		}
	}
	return nil
}

// open looks at the virtual machine of a process; nil without an error: there is none. Nothing is changed: its memory
// is only read.
func open(pid target.PID) (v *machine, err error) {
	maps, err := pid.Maps()
	if err != nil {
		return nil, err
	}
	at := library(maps)
	if at == nil {
		return nil, nil
	}
	mapped, err := pid.OpenMapped(at)
	if err != nil {
		return nil, err
	}
	defer mapped.Close()
	lib, err := objfile.OpenFile(mapped, at.Path)
	if err != nil {
		return nil, err
	}
	defer lib.Close()
	arch := lib.Arch()
	if arch == nil || arch.Java == nil {
		return nil, fmt.Errorf("where compiled methods have their arguments is not known on %s", lib.CPU())
	}
	bias, ok := lib.Bias(at.Start, at.Offset, at.End-at.Start)
	if !ok {
		return nil, errDescribed
	}
	f, err := pid.Memory()
	if err != nil {
		return nil, err
	}
	v = &machine{
		arch: arch, m: remote.New(f, remote.Seconds), file: f, known: map[uint64]string{},
		typed: map[string]*types.Type{},
	}
	defer func() {
		if err != nil {
			_ = v.Close()
			v = nil
		}
	}()
	defer objfile.Guard(&err)()
	d, err := describe(v.m, lib, bias)
	if err != nil {
		return v, err
	}
	for i, name := range strings.Fields(names) {
		v.off[i] = d.field(name)
	}
	_, v.offsets = d.fields["nmethod::_verified_entry_offset"]
	v.interpreter = d.fields["Method::_i2i_entry"]
	v.entries = d.size("ConstantPool")
	if err := d.err(); err != nil {
		return v, err
	}
	v.describeCache(d)
	v.objects(d)
	if state, ok := d.fields["InstanceKlass::_init_state"]; ok {
		if k := v.class("java/lang/VirtualThread"); k != 0 {
			v.virtual, v.initialized = k+state, d.constants["InstanceKlass::fully_initialized"]
		}
	}
	if v.m.Word(v.off[head]) == 0 {
		return v, errors.New("its virtual machine has not started yet: try again when the program runs")
	}
	return v, nil
}

// Close gives back what reading the process took.
func (v *machine) Close() error { return v.file.Close() }

// objects finds how objects are laid out.
func (v *machine) objects(d *described) {
	static := func(size int, names string) uint64 {
		at := d.field(names)
		if at == 0 {
			return 0
		}
		return v.m.Number(at, size)
	}
	l := &v.layout
	narrowed := func(size int, of, name string) uint64 { // in several versions
		return static(size, of+"::_narrow_"+name+","+of+"::_"+name[strings.Index(name, "._")+2:]+",Universe::_narrow_"+name)
	}
	l.Base = narrowed(8, "CompressedOops", "oop._base")
	l.Shift = int(narrowed(4, "CompressedOops", "oop._shift"))
	l.ClassBase = narrowed(8, "CompressedKlassPointers", "klass._base")
	l.ClassShift = int(narrowed(4, "CompressedKlassPointers", "klass._shift"))
	flags := v.flags(d)
	narrow, narrowClass := flags["UseCompressedOops"], flags["UseCompressedClassPointers"]
	l.Narrow, l.NarrowClass = narrow, narrowClass
	l.Class, l.Length, l.Data = 8, 12, 16
	if !narrowClass {
		// Of what is not used the virtual machine has no sound values. Since JDK 23 elements are behind the length.
		l.Length, l.Data, l.ClassBase, l.ClassShift = 16, 24, 0, 0
		if v.offsets {
			l.Data = 20
		}
	}
	if !narrow {
		l.Base, l.Shift = 0, 0
	}
	switch {
	case d.err() != nil:
		v.texts = d.err().Error()
	case flags["UseZGC"] || flags["UseShenandoahGC"]:
		v.texts = "objects are moved while the program runs (ZGC, Shenandoah), so that references may be of former places: " +
			"start it with java -XX:+UseG1GC"
	case flags["UseCompactObjectHeaders"]:
		v.texts = "it has compact object headers (start it with java -XX:-UseCompactObjectHeaders)"
	case l.Shift > 6 || l.ClassShift > 16:
		v.texts = fmt.Sprintf("how its references are compressed is not known (shifts of %d and %d bits)", l.Shift,
			l.ClassShift)
	}
	if v.texts != "" {
		return
	}
	l.Text = v.class("java/lang/String")
	v.describeFields(d)
	value, ok := v.fieldOf(l.Text, "value", "[B")
	coder, ok2 := v.fieldOf(l.Text, "coder", "B")
	if l.Value, l.Coder = value, coder; !ok || !ok2 {
		v.texts = "the fields of java.lang.String are not those that are known (JDK 9 to 22)"
	}
}

// flags are the virtual machine's own settings that are on.
func (v *machine) flags(d *described) map[string]bool {
	on := map[string]bool{}
	at, n := v.m.Word(d.field("JVMFlag::flags,Flag::flags")), v.m.Word(d.field("JVMFlag::numFlags,Flag::numFlags"))
	size := d.sizes["JVMFlag"]
	name, addr := d.field("JVMFlag::_name,Flag::_name"), d.field("JVMFlag::_addr,Flag::_addr")
	for ; n > 0 && n < maxEntries && size > 0; n, at = n-1, at+size {
		text := v.m.Text(v.m.Word(at + name))
		if strings.HasPrefix(text, "Use") && v.m.Number(v.m.Word(at+addr), 1) == 1 {
			on[text] = true
		}
	}
	return on
}

// classes calls yield with the classes that fit, until it gives false.
func (v *machine) classes(fits, yield func(klass uint64) bool) {
	seen := 0
	const most = 1 << 20
	for loader := v.m.Word(v.off[head]); loader != 0; loader = v.m.Word(loader + v.off[nextLoader]) {
		for k := v.m.Word(loader + v.off[klasses]); k != 0; k = v.m.Word(k + v.off[nextKlass]) {
			if seen++; seen > most {
				return
			}
			if int32(v.m.Number(k+v.off[layoutHelper], 4)) >= 0 && fits(k) && !yield(k) { // those below are arrays
				return
			}
		}
		if seen++; seen > most {
			return
		}
	}
}

// class finds a class by its name; 0: there is none.
func (v *machine) class(name string) (klass uint64) {
	v.classes(func(k uint64) bool { return v.name(k) == name }, func(k uint64) bool {
		klass = k
		return false
	})
	return klass
}

// unpaired is why the return of a call cannot be told from those of others; "": it can.
func (v *machine) unpaired() string {
	if v.virtual == 0 || v.m.Number(v.virtual, 1) != v.initialized {
		return ""
	}
	return "the program has virtual threads, which go on on other threads, and elsewhere on their stacks"
}

// name is a class's, as the virtual machine has it: "java/lang/String".
func (v *machine) name(klass uint64) string { return v.symbol(v.m.Word(klass + v.off[className])) }

// symbol reads a name; "": it is none.
func (v *machine) symbol(at uint64) string {
	if at == 0 {
		return ""
	}
	b := make([]byte, v.m.Number(at+v.off[length], 2))
	if !v.m.Read(b, at+v.off[body]) {
		return ""
	}
	return string(b)
}

// constant is a name in a pool of constants.
func (v *machine) constant(pool, index uint64) string {
	return v.symbol(v.m.Word(pool+v.entries+8*index) &^ 1)
}

// Name names the class that has a description at an address, as Java writes it.
func (v *machine) Name(klass uint64) (name string, ok bool) {
	if name, ok = v.known[klass]; ok {
		return name, true
	}
	v.m.Forget()
	switch name = v.name(klass); {
	case name == "" || len(name) > 1<<10 || len(v.known) >= maxEntries:
		return "", false
	case name[0] == '[':
		name = typeName(name)
	default:
		name = strings.ReplaceAll(name, "/", ".")
	}
	v.known[klass] = name
	return name, true
}

var errGone = errors.New("its class is not loaded any more")
