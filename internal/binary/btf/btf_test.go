package btf

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"trocar/internal/binary/types"
)

// kernelTypes opens the running kernel's types.
func kernelTypes(t testing.TB) *Types {
	t.Helper()
	b := New(Kernel())
	if err := b.Err(); err != nil {
		t.Skipf("the kernel shows no types: %v", err)
	}
	return b
}

// TestWitness compares every type of the running kernel with what cilium/ebpf reads.
func TestWitness(t *testing.T) {
	t.Parallel()
	b := kernelTypes(t)
	file, err := os.Open(KernelPath)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	spec, err := btf.LoadSpecFromReader(file)
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{t: t, b: b}
	structs, enums, funcs, seen := 0, 0, 0, map[string]bool{}
	for want, err := range spec.All() {
		if err != nil {
			t.Fatal(err)
		}
		id, err := spec.TypeID(want)
		if err != nil {
			t.Fatal(err)
		}
		switch want := want.(type) {
		case *btf.Struct, *btf.Union:
			structs++
		case *btf.Enum:
			enums++
		case *btf.Func:
			funcs++
			b.mu.Lock()
			got, ok := b.prototype(b.at(uint32(id)).ref(), 0)
			b.mu.Unlock()
			if first, known := b.FuncID(want.Name); !seen[want.Name] && (!known || first != uint32(id)) {
				t.Errorf("%s: number %d, not %d", want.Name, first, id)
			}
			seen[want.Name] = true
			proto := want.Type.(*btf.FuncProto)
			params := len(got.Params)
			if got.Vararg {
				params++
			}
			if !ok || params != len(proto.Params) {
				t.Errorf("%s: %d parameters, not %d", want.Name, params, len(proto.Params))
			}
			continue
		case *btf.Void, *btf.Datasec, *btf.Var:
			continue
		}
		b.mu.Lock()
		got := b.conv.of(uint32(id), true, 0)
		b.mu.Unlock()
		w.compare(want.TypeName(), got, want, 0)
		if t.Failed() {
			t.Fatalf("type %d: %v", id, want)
		}
	}
	t.Logf("%d structures, %d enums, %d functions are equal", structs, enums, funcs)
	if structs < 1000 || enums < 100 || funcs < 1000 {
		t.Errorf("so few types: %d structures, %d enums, %d functions", structs, enums, funcs)
	}
}

type witness struct {
	t *testing.T
	b *Types
}

// compare holds a converted type against the witness's.
func (w *witness) compare(at string, got *types.Type, want btf.Type, depth int) {
	want = btf.UnderlyingType(want)
	if size, err := btf.Sizeof(want); err == nil && got.Size != size && got.Kind != types.Void {
		w.t.Errorf("%s: %d bytes, not %d", at, got.Size, size)
	}
	kind := types.Void
	switch want := want.(type) {
	case *btf.Int:
		kind = types.Int
		if want.Encoding == btf.Bool {
			kind = types.Bool
		}
		if want.Size > 8 {
			kind = types.Struct // no integer to us
		} else if got.Signed != (want.Encoding == btf.Signed) {
			w.t.Errorf("%s: signed %v", at, got.Signed)
		}
	case *btf.Float:
		kind = types.Float
	case *btf.Pointer:
		kind = types.Pointer
	case *btf.Array:
		kind = types.Array
		if n := int(want.Nelems); n != got.Len && (n != 0 || got.Len != -1) {
			w.t.Errorf("%s: %d elements, not %d", at, got.Len, n)
		}
		w.compare(at+"[]", got.Elem, want.Type, depth)
	case *btf.Enum:
		kind = types.Enum
		if len(got.Enums) != len(want.Values) || got.Signed != want.Signed {
			w.t.Errorf("%s: %d enumerators, not %d", at, len(got.Enums), len(want.Values))
			return
		}
		for i, e := range want.Values {
			value := int64(e.Value)
			if want.Size == 4 && !want.Signed {
				value = int64(uint32(e.Value))
			}
			if got.Enums[i].Name != e.Name || got.Enums[i].Value != value {
				w.t.Errorf("%s: %v, not %v", at, got.Enums[i], e)
			}
		}
	case *btf.Struct:
		kind = types.Struct
		w.members(at, got, want.Members, depth)
	case *btf.Union:
		kind = types.Union
		w.members(at, got, want.Members, depth)
	case *btf.FuncProto:
		kind = types.Func
	case *btf.Fwd:
		if !got.Incomplete {
			w.t.Errorf("%s: a declaration that is complete", at)
		}
		return
	}
	if got.Kind != kind {
		w.t.Errorf("%s: of kind %d, not %d", at, got.Kind, kind)
	}
}

func (w *witness) members(at string, got *types.Type, want []btf.Member, depth int) {
	if depth > 20 {
		w.t.Fatalf("%s: so deep", at)
	}
	if got.Incomplete || len(got.Fields) != len(want) {
		w.t.Errorf("%s: %d members, not %d", at, len(got.Fields), len(want))
		return
	}
	for i, m := range want {
		f := got.Fields[i]
		bit := 8*f.Offset + f.BitOffset
		if f.Name != m.Name || bit != int(m.Offset) || f.BitSize != int(m.BitfieldSize) {
			w.t.Errorf("%s: %s at bit %d, %d wide; not %s at %d, %d wide",
				at, f.Name, bit, f.BitSize, m.Name, m.Offset, m.BitfieldSize)
		}
		w.compare(at+"."+m.Name, f.Type, m.Type, depth+1)
	}
}

func TestType(t *testing.T) {
	t.Parallel()
	b := kernelTypes(t)
	for _, tt := range []struct {
		name string
		kind types.Kind
		size int
	}{
		{"struct list_head", types.Struct, 16},
		{"union sigval", types.Union, 8},
		{"enum pid_type", types.Enum, 4},
		{"size_t", types.Int, 8},
		{"u64", types.Int, 8},
		{"uint64_t", types.Int, 8},
		{"pid_t", types.Int, 4},
		{"char", types.Int, 1},
		{"long unsigned int", types.Int, 8},
		{"bool", types.Bool, 1},
		{"atomic_t", types.Struct, 4},
	} {
		got := b.Type(tt.name)
		if got == nil || got.Kind != tt.kind || got.Size != tt.size || got.Incomplete {
			t.Errorf("%s: %+v", tt.name, got)
		}
		if again := b.Type(tt.name); again != got {
			t.Errorf("%s: another type the second time", tt.name)
		}
	}
	for _, name := range []string{
		"", "struct", "struct ", "struct nonsense", "list_head", "enum list_head", "union task_struct", "nonsense", "main",
	} {
		if got := b.Type(name); got != nil {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestTask(t *testing.T) {
	t.Parallel()
	b := kernelTypes(t)
	task := b.Type("struct task_struct")
	if task == nil {
		t.Fatal("no struct task_struct")
	}
	field := func(of *types.Type, name string) types.Field {
		t.Helper()
		f, ok := of.Field(name)
		if !ok {
			t.Fatalf("%s has no %s", of, name)
		}
		return f
	}
	if comm := field(task, "comm").Type; !comm.IsText() || comm.Len != 16 {
		t.Errorf("comm: %v", comm)
	}
	parent := field(task, "real_parent").Type
	elem := parent.Elem
	if parent.Kind != types.Pointer || elem.Name != "struct task_struct" || elem.Size != task.Size || !elem.Incomplete {
		t.Fatalf("real_parent: %+v", elem)
	}
	if full := parent.Elem.Complete(); full != task {
		t.Errorf("completed it is another type: %p, not %p", full, task)
	}
	// Pointers to const structures are completed as well.
	class := field(task, "sched_class").Type
	if class.Elem.Quals() != types.Const {
		t.Errorf("sched_class: %s", types.Declare(class, "sched_class"))
	}
	enqueue := field(class.Elem, "enqueue_task").Type
	if enqueue.Kind != types.Pointer || enqueue.Elem.Kind != types.Func || len(enqueue.Elem.Source.Params) != 3 {
		t.Errorf("enqueue_task: %s", types.Declare(enqueue, "enqueue_task"))
	}
	for name, want := range map[string]string{
		"real_parent": "struct task_struct *real_parent", "sched_class": "const struct sched_class *sched_class",
		"usage": "refcount_t usage",
		"comm":  "char comm[16]", "pid": "pid_t pid", "cpus_mask": "cpumask_t cpus_mask",
	} {
		if got := types.Declare(field(task, name).Type, name); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	// A type alone keeps open what it is read from.
	mm := field(task, "mm").Type.Elem
	b, task = nil, nil
	runtime.GC()
	runtime.GC()
	if full := mm.Complete(); full.Incomplete || field(full, "pgd").Type.Kind != types.Pointer {
		t.Errorf("mm: %+v", full)
	}
}

func TestEnumerator(t *testing.T) {
	t.Parallel()
	b := kernelTypes(t)
	e, v, ok := b.Enumerator("PIDTYPE_SID")
	if !ok || v != 3 || e.Name != "enum pid_type" {
		t.Errorf("PIDTYPE_SID: %v %d %v", e, v, ok)
	}
	for _, name := range []string{"", "PIDTYPE_", "pid_type", "nonsense"} {
		if _, _, ok := b.Enumerator(name); ok {
			t.Errorf("%q is found", name)
		}
	}
}

func TestFunc(t *testing.T) {
	t.Parallel()
	b := kernelTypes(t)
	show := func(p Prototype) string {
		var parts []string
		for _, a := range p.Params {
			parts = append(parts, types.Declare(a.Type, a.Name))
		}
		if p.Vararg {
			parts = append(parts, "...")
		}
		return types.Declare(p.Result, "") + "(" + strings.Join(parts, ", ") + ")"
	}
	for name, want := range map[string]string{
		"vfs_read":       "ssize_t(struct file *file, char *buf, size_t count, loff_t *pos)",
		"trace_vbprintk": "int(long unsigned int ip, const char *fmt, struct __va_list_tag *args)",
		"_printk":        "int(const char *fmt, ...)",
	} {
		p, ok := b.Func(name)
		if got := show(p); ok && got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
	}
	if _, ok := b.Func("struct task_struct"); ok {
		t.Error("a structure is a function")
	}
	for _, name := range []string{"", "task_struct", "nonsense"} {
		if id, ok := b.FuncID(name); ok {
			t.Errorf("%q is function %d", name, id)
		}
	}
	for name, want := range map[string]string{
		"irq_handler_entry": "void(int irq, struct irqaction *action)",
		"sys_enter":         "void(struct pt_regs *regs, long int id)",
	} {
		p, ok := b.RawTracepoint(name)
		if got := show(p); !ok || got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
	}
	if _, ok := b.RawTracepoint("nonsense"); ok {
		t.Error("a tracepoint nonsense")
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	b := kernelTypes(t)
	seen := map[string]bool{}
	for _, name := range b.Tags() {
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
	}
	for _, name := range []string{"struct task_struct", "union bpf_attr", "enum pid_type"} {
		if !seen[name] {
			t.Errorf("no %s", name)
		}
	}
}

// TestSearch holds names found by hash against names found by walking.
func TestSearch(t *testing.T) {
	t.Parallel()
	b := kernelTypes(t)
	kinds := uint32(1<<kindStruct | 1<<kindUnion | 1<<kindEnum | 1<<kindTypedef | 1<<kindFunc)
	b.index()
	for id := 1; id < len(b.starts); id += 997 {
		name := b.nameOf(b.at(uint32(id)))
		for _, k := range []uint32{kinds, 1 << kindStruct, 1 << kindFunc} {
			b.finds = 0
			want, ok := b.find(k, name)
			got, found := uint32(0), false
			if name != "" {
				got, found = b.search(k, name)
			}
			if got != want || found != ok {
				t.Errorf("%s: %d %v, not %d %v", name, got, found, want, ok)
			}
		}
	}
}

// TestField: where a field is found without its type is where the type has it, those of unnamed members included.
func TestField(t *testing.T) {
	t.Parallel()
	b, fresh := kernelTypes(t), kernelTypes(t)
	fresh.Structs("task_struct", "mm_struct", "mm_struct", "nonsense")
	compared := 0
	var holds func(structure string, at int, of *types.Type, path ...string)
	holds = func(structure string, at int, of *types.Type, path ...string) {
		for _, f := range of.Complete().Fields {
			switch {
			case f.Type.Incomplete && f.Offset == 0 || f.BitOffset != 0 || f.BitSize != 0:
			case f.Name == "":
				holds(structure, at+f.Offset, f.Type, path...)
			default:
				inner := append(slices.Clone(path), f.Name)
				if got, ok := fresh.Field(structure, inner...); !ok || got != at+f.Offset {
					t.Errorf("%s %v: %d %v, not %d", structure, inner, got, ok, at+f.Offset)
				}
				compared++
				if f.Type.Kind == types.Struct && len(path) == 0 {
					holds(structure, at+f.Offset, f.Type, inner...)
				}
			}
		}
	}
	for i, tag := range b.Tags() {
		if name, ok := strings.CutPrefix(tag, "struct "); ok && (i%97 == 0 || name == "mm_struct" || name == "task_struct") {
			holds(name, 0, b.Type(tag))
		}
	}
	if compared < 1000 {
		t.Errorf("%d fields", compared)
	}
	for _, path := range [][]string{{"nonsense"}, {"pid", "nonsense"}, {"mm", "start_code"}, {""}} {
		if at, ok := fresh.Field("task_struct", path...); ok {
			t.Errorf("%v at %d", path, at)
		}
	}
	if _, ok := fresh.Field("nonsense", "pid"); ok {
		t.Error("a structure that is not there")
	}
}

func BenchmarkType(b *testing.B) {
	for b.Loop() {
		k := kernelTypes(b)
		if k.Type("struct task_struct") == nil {
			b.Fatal("no struct task_struct")
		}
	}
}

// BenchmarkAbsent is what the second and each further name costs that is not there.
func BenchmarkAbsent(b *testing.B) {
	k := kernelTypes(b)
	for b.Loop() {
		k.mu.Lock()
		clear(k.byName)
		k.finds = 0
		k.mu.Unlock()
		if k.Type("struct nonsense") != nil {
			b.Fatal("there is one")
		}
	}
}

func BenchmarkHashNames(b *testing.B) {
	k := kernelTypes(b)
	k.index()
	for b.Loop() {
		k.hashNames()
	}
}
