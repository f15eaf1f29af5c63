package check

import (
	"fmt"
	"strings"

	"trocar/internal/binary/types"
)

// Tasks says where the kernel keeps what leads from the number of a process or thread to its task: each PID namespace
// has a tree (xarray) of struct pid by number, and each of these has a list of the tasks that are numbered so. All are
// offsets in bytes.
type Tasks struct {
	ThreadPID int // task_struct.thread_pid: the struct pid that the task is numbered by
	Links     int // task_struct.pid_links[PIDTYPE_PID], by which it is in that one's list
	Comm      int // task_struct.comm, which is the name

	Tasks   int // pid.tasks[PIDTYPE_PID].first: the list
	Level   int // pid.level: how many namespaces are around the innermost one that it has a number in
	Numbers int // pid.numbers: a struct upid for each of these namespaces, the initial one first
	Upid    int // the size of one
	Number  int // upid.nr
	Within  int // upid.ns: the pid_namespace

	Inum int // pid_namespace.ns.inum: the namespace's number
	Head int // pid_namespace.idr.idr_rt.xa_head: the tree

	Shift  int // xa_node.shift: the lowest bit of a number that chooses the slot
	Slots  int // xa_node.slots
	Fanout int // how many slots a node has, a power of two
}

// commSize is the size of a task's name (TASK_COMM_LEN in include/linux/sched.h).
const commSize = 16

// findTasks looks into the kernel's types for all that.
func findTasks(kernelType func(name string) *types.Type) (*Tasks, error) {
	var failed error
	// field goes from a struct through members, and through the first elements of arrays: PIDTYPE_PID is 0.
	field := func(path string) (int, *types.Type) {
		if failed != nil {
			return 0, types.TUint64
		}
		words := strings.Split(path, ".")
		t, off := kernelType("struct "+words[0]), 0
		if t == nil {
			failed = fmt.Errorf("it has no struct %s", words[0])
			return 0, types.TUint64
		}
		for _, word := range words[1:] {
			if t.Kind == types.Array {
				t = t.Elem
			}
			f, ok := t.Field(word)
			if !ok || f.BitSize != 0 {
				failed = fmt.Errorf("it has no %s", path)
				return 0, types.TUint64
			}
			off, t = off+f.Offset, f.Type
		}
		return off, t
	}
	at := func(path string) int { off, _ := field(path); return off }
	w := &Tasks{
		ThreadPID: at("task_struct.thread_pid"), Links: at("task_struct.pid_links"),
		Tasks: at("pid.tasks.first"), Level: at("pid.level"), Number: at("upid.nr"), Within: at("upid.ns"),
		Inum: at("pid_namespace.ns.inum"), Head: at("pid_namespace.idr.idr_rt.xa_head"), Shift: at("xa_node.shift"),
	}
	var comm, numbers, slots *types.Type
	w.Comm, comm = field("task_struct.comm")
	w.Numbers, numbers = field("pid.numbers")
	w.Slots, slots = field("xa_node.slots")
	if failed != nil {
		return nil, failed
	}
	if numbers.Kind != types.Array || slots.Kind != types.Array || comm.Size < commSize {
		return nil, fmt.Errorf("pid.numbers, xa_node.slots and task_struct.comm are not what they were up to Linux 7.0")
	}
	w.Upid, w.Fanout = numbers.Elem.Size, slots.Len
	if w.Fanout <= 0 || w.Fanout&(w.Fanout-1) != 0 {
		return nil, fmt.Errorf("xa_node has %d slots", w.Fanout)
	}
	return w, nil
}
