package trocar

import (
	"testing"

	"github.com/cilium/ebpf/btf"
)

// tasksKernel is the part of a kernel's types by which tasks are found, by number and from one another. Neither
// order nor sizes are those of a real kernel.
func tasksKernel(t testing.TB) KernelTypes {
	t.Helper()
	text := &btf.Int{Name: "char", Size: 1, Encoding: btf.Char}
	number := &btf.Int{Name: "unsigned int", Size: 4}
	count := &btf.Int{Name: "unsigned char", Size: 1}
	wide := &btf.Int{Name: "unsigned long", Size: 8}
	structure := func(name string, size uint32, members ...btf.Member) *btf.Struct {
		return &btf.Struct{Name: name, Size: size, Members: members}
	}
	member := func(name string, at uint32, of btf.Type) btf.Member {
		return btf.Member{Name: name, Type: of, Offset: btf.Bits(8 * at)}
	}
	array := func(n uint32, of btf.Type) *btf.Array { return &btf.Array{Index: number, Type: of, Nelems: n} }
	address := &btf.Pointer{Target: &btf.Void{}}
	head := structure("hlist_head", 8, member("first", 0, address))
	link := structure("hlist_node", 16, member("next", 0, address), member("pprev", 8, address))
	namespace := structure("pid_namespace", 64,
		member("level", 0, number),
		member("idr", 8, structure("idr", 32, member("idr_base", 0, number), member("idr_rt", 8,
			structure("xarray", 16, member("xa_flags", 0, number), member("xa_head", 8, address))))),
		member("ns", 48, structure("ns_common", 16, member("ops", 0, address), member("inum", 8, number))))
	upid := structure("upid", 16, member("nr", 0, number), member("ns", 8, &btf.Pointer{Target: namespace}))
	pid := structure("pid", 64, member("level", 4, number), member("tasks", 16, array(4, head)), member("numbers", 48,
		array(1, upid)))
	task := structure("task_struct", 128, member("comm", 8, array(16, text)), member("pid_links", 32, array(4, link)),
		member("thread_pid", 96, &btf.Pointer{Target: pid}), member("pid", 104, number))
	relative := &btf.Pointer{Target: task}
	task.Members = append(task.Members, member("real_parent", 112, relative), member("group_leader", 120, relative))
	node := structure("xa_node", 544, member("shift", 1, count), member("slots", 16, array(64, address)),
		member("tags", 528, wide))
	b, err := btf.NewBuilder([]btf.Type{task, node, pid}, nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := b.Marshal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return KernelTypes{Data: data}
}
