package trocar

import (
	"trocar/internal/binary/types"
	"trocar/internal/compile/codegen"
	"trocar/internal/compile/feature"
	"trocar/internal/process/probe"
)

// session finds the functions of sessions in the kernel.
func (p *Program) session() *codegen.Session {
	if !p.features.Has(feature.UprobeSession) {
		return nil
	}
	isReturn, ok := p.features.Types().FuncID("bpf_session_is_return")
	if !ok {
		return nil
	}
	cookie, ok := p.features.Types().FuncID("bpf_session_cookie")
	if !ok {
		return nil
	}
	return &codegen.Session{IsReturn: int32(isReturn), Cookie: int32(cookie)}
}

// python is how frames of Python are found in the process that is traced, if it is one.
func (p *Program) python() *probe.PythonStacks {
	if t := p.req.Target; t.Container != "" || len(t.Others) > 0 {
		return nil
	}
	return p.matched.PythonFrames()
}

// unwind finds where the kernel keeps what walks of user stacks need to know.
func (p *Program) unwind() (*codegen.Unwind, bool) {
	u := &codegen.Unwind{}
	a := &u.Space
	a.Identity = make([]int, 5)
	p.features.Types().Structs("task_struct", "uprobe_task", "return_instance", "mm_struct", "vm_area_struct", "file",
		"inode", "super_block", "maple_range_64", "maple_arange_64")
	for _, f := range []struct {
		structure, field string
		at               *int
	}{
		{"struct task_struct", "mm", &u.MM},
		{"struct task_struct", "utask", &u.Task},
		{"struct uprobe_task", "return_instances", &u.Returns},
		{"struct return_instance", "stack", &u.ReturnStack},
		{"struct return_instance", "orig_ret_vaddr", &u.ReturnAddress},
		{"struct return_instance", "next", &u.ReturnNext},
		{"struct mm_struct", "start_code", &a.Identity[0]},
		{"struct mm_struct", "end_code", &a.Identity[1]},
		{"struct mm_struct", "start_data", &a.Identity[2]},
		{"struct mm_struct", "end_data", &a.Identity[3]},
		{"struct mm_struct", "start_stack", &a.Identity[4]},
		{"struct vm_area_struct", "vm_start", &a.Start},
		{"struct vm_area_struct", "vm_end", &a.End},
		{"struct vm_area_struct", "vm_mm", &a.MM},
		{"struct vm_area_struct", "vm_flags", &a.Flags},
		{"struct vm_area_struct", "vm_pgoff", &a.Offset},
		{"struct vm_area_struct", "vm_file", &a.File},
		{"struct file", "f_inode", &a.Inode},
		{"struct inode", "i_ino", &a.Number},
		{"struct inode", "i_size", &a.Size},
		{"struct inode", "i_sb", &a.SuperBlk},
		{"struct inode", "i_generation", &a.Generation},
		{"struct super_block", "s_dev", &a.Device},
		{"struct maple_range_64", "pivot", &a.Pivot},
		{"struct maple_range_64", "slot", &a.Slot},
		{"struct maple_arange_64", "pivot", &a.GapPivot},
		{"struct maple_arange_64", "slot", &a.GapSlot},
	} {
		at, ok := offsetOf(p.features.Types().Type(f.structure), f.field)
		if !ok {
			return nil, false
		}
		*f.at = at
	}
	a.Stack = a.Identity[4]
	a.Pivots, a.GapPivots = (a.Slot-a.Pivot)/8, (a.GapSlot-a.GapPivot)/8
	mm, inode := p.features.Types().Type("struct mm_struct"), p.features.Types().Type("struct inode")
	ok := within(mm, &a.Root, "mm_mt", "ma_root") && within(mm, &a.Virtual, "context", "vdso")
	// Before 6.4 nothing counts the changes, and it is looked at what is mapped each time. Until 6.12 it is a number.
	if a.Changes = -1; !within(mm, &a.Changes, "mm_lock_seq", "sequence") {
		a.ChangesAfter = within(mm, &a.Changes, "mm_lock_seq")
	}
	// The time of the last change, which, unlike that of the last write, nobody sets: from 6.11, from 6.6, before.
	switch {
	case within(inode, &a.Seconds, "i_ctime_sec") && within(inode, &a.Nanoseconds, "i_ctime_nsec"):
	case within(inode, &a.Seconds, "__i_ctime", "tv_sec") && within(inode, &a.Nanoseconds, "__i_ctime", "tv_nsec"):
	case within(inode, &a.Seconds, "i_ctime", "tv_sec") && within(inode, &a.Nanoseconds, "i_ctime", "tv_nsec"):
	default:
		ok = false
	}
	return u, ok && a.Sound()
}

// within finds a field of a structure, or of one that is in it.
func within(t *types.Type, offset *int, path ...string) bool {
	sum := 0
	for _, name := range path {
		if t == nil {
			return false
		}
		f, at, ok := fieldOf(t, name)
		if !ok {
			return false
		}
		sum += at
		t = f
	}
	*offset = sum
	return true
}

// offsetOf is where a structure has a field.
func offsetOf(t *types.Type, name string) (offset int, ok bool) {
	if t == nil {
		return 0, false
	}
	_, offset, ok = fieldOf(t, name)
	return offset, ok
}

// fieldOf finds a field of a structure, which may be in one without a name.
func fieldOf(t *types.Type, name string) (of *types.Type, offset int, ok bool) {
	for _, f := range t.Complete().Fields {
		if f.Name == name && f.BitSize == 0 {
			return f.Type, f.Offset, true
		}
		if f.Name == "" {
			if of, at, ok := fieldOf(f.Type, name); ok {
				return of, f.Offset + at, true
			}
		}
	}
	return nil, 0, false
}

// returnDepth finds where the kernel counts the return addresses that it has replaced in a thread.
func (p *Program) returnDepth() (pointer, depth int, ok bool) {
	pointer, ok = offsetOf(p.features.Types().Type("struct task_struct"), "utask")
	if !ok {
		return 0, 0, false
	}
	depth, ok = offsetOf(p.features.Types().Type("struct uprobe_task"), "depth")
	return pointer, depth, ok
}
