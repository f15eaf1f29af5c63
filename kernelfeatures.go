package trocar

import (
	"errors"
	"sync"

	"trocar/internal/compile/codegen"
	"trocar/internal/compile/feature"
	"trocar/internal/kernel"
	"trocar/internal/process/probe"
	"trocar/result"
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
	t := p.req.Target
	if t.Container != "" || p.pythonic && len(t.Others) > 0 {
		return nil
	}
	frames := p.matched.PythonFrames()
	if frames != nil && len(t.Others) > 0 {
		p.pythonic = true
		p.warnings = append(p.warnings, Diagnostic{
			Severity: result.Info, Text: "call stacks have functions of Python only where one process is named with -p: of " +
				"several, those of the interpreter are shown",
		})
		return nil
	}
	return frames
}

// unwind finds where the kernel keeps what walks of user stacks need to know.
func (p *Program) unwind() (*codegen.Unwind, bool) {
	u := &codegen.Unwind{}
	a := &u.Space
	a.Identity = make([]int, 5)
	p.features.Types().Structs("task_struct", "uprobe_task", "return_instance", "mm_struct", "vm_area_struct", "file",
		"inode", "super_block", "maple_range_64", "maple_arange_64")
	within := func(structure string, offset *int, path ...string) (ok bool) {
		at, ok := p.features.Types().Field(structure, path...)
		if ok {
			*offset = at
		}
		return ok
	}
	for _, f := range []struct {
		structure, field string
		at               *int
	}{
		{"task_struct", "mm", &u.MM},
		{"task_struct", "utask", &u.Task},
		{"uprobe_task", "return_instances", &u.Returns},
		{"return_instance", "stack", &u.ReturnStack},
		{"return_instance", "orig_ret_vaddr", &u.ReturnAddress},
		{"return_instance", "next", &u.ReturnNext},
		{"mm_struct", "start_code", &a.Identity[0]},
		{"mm_struct", "end_code", &a.Identity[1]},
		{"mm_struct", "start_data", &a.Identity[2]},
		{"mm_struct", "end_data", &a.Identity[3]},
		{"mm_struct", "start_stack", &a.Identity[4]},
		{"vm_area_struct", "vm_start", &a.Start},
		{"vm_area_struct", "vm_end", &a.End},
		{"vm_area_struct", "vm_mm", &a.MM},
		{"vm_area_struct", "vm_flags", &a.Flags},
		{"vm_area_struct", "vm_pgoff", &a.Offset},
		{"vm_area_struct", "vm_file", &a.File},
		{"file", "f_inode", &a.Inode},
		{"inode", "i_ino", &a.Number},
		{"inode", "i_size", &a.Size},
		{"inode", "i_sb", &a.SuperBlk},
		{"inode", "i_generation", &a.Generation},
		{"super_block", "s_dev", &a.Device},
		{"maple_range_64", "pivot", &a.Pivot},
		{"maple_range_64", "slot", &a.Slot},
		{"maple_arange_64", "pivot", &a.GapPivot},
		{"maple_arange_64", "slot", &a.GapSlot},
	} {
		if !within(f.structure, f.at, f.field) {
			return nil, false
		}
	}
	a.Stack = a.Identity[4]
	a.Pivots, a.GapPivots = (a.Slot-a.Pivot)/8, (a.GapSlot-a.GapPivot)/8
	const mm, inode = "mm_struct", "inode"
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

// returnDepth finds where the kernel counts the return addresses that it has replaced in a thread.
func (p *Program) returnDepth() (pointer, depth int, ok bool) {
	t := p.features.Types()
	if pointer, ok = t.Field("task_struct", "utask"); ok {
		depth, ok = t.Field("uprobe_task", "depth")
	}
	return pointer, depth, ok
}

// floats finds where the kernel keeps floating-point registers of threads.
func (p *Program) floats() (*codegen.Floats, error) { return floatsOf(p.features) }

func floatsOf(f *kernel.Features) (*codegen.Floats, error) {
	if err := f.Need(feature.FloatRegisters, ""); err != nil {
		return nil, err
	}
	t := f.Types()
	at := &codegen.Floats{}
	found := func(to *int, structure string, path ...string) (ok bool) {
		*to, ok = t.Field(structure, path...)
		return ok
	}
	// Until 6.15 they are in the structure of the thread, then behind that of the task.
	behind := !found(&at.State, "task_struct", "thread", "fpu", "fpstate")
	if behind && found(&at.State, "fpu", "fpstate") {
		if task := t.Type("struct task_struct"); task != nil {
			at.State, behind = at.State+task.Complete().Size, false
		}
	}
	if behind || !found(&at.Regs, "fpstate", "regs") || !found(&at.Switches[0], "task_struct", "nvcsw") ||
		!found(&at.Policy, "task_struct", "policy") ||
		!found(&at.Switches[1], "task_struct", "nivcsw") {
		return nil, errors.New("it is not known where this kernel keeps them")
	}
	return at, nil
}

// floatRegisters tells whether programs find what is in floating-point registers, and if not, for want of which right.
func floatRegisters(f *kernel.Features) func() (found bool, needs string) {
	return sync.OnceValues(func() (bool, string) {
		_, err := floatsOf(f)
		if err == nil {
			return true, ""
		}
		return false, kernel.FloatsNeed(f)
	})
}
