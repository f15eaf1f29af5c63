package builtin

import "trocar/internal/binary/types"

var process = []Func{
	{
		ID: PID, Names: []string{"pid"}, Variable: true, Min: 0, Max: 1, Group: GroupProcess, Result: types.TUint32,
		Variants: []string{"uint32 pid", "uint32 pid([curr_ns|init])"},
		Doc: `The number of the current process (what the kernel calls the thread group). With curr_ns, which is the default, it is
the number that the process has in the PID namespace trocar runs in; with init, the one in the initial namespace.`,
	},
	{
		ID: TID, Names: []string{"tid"}, Variable: true, Min: 0, Max: 1, Group: GroupProcess, Result: types.TUint32,
		Variants: []string{"uint32 tid", "uint32 tid([curr_ns|init])"},
		Doc:      `The number of the current thread. The argument means the same as pid's.`,
	},
	{
		ID: RoutineID, Names: []string{"goid"}, Variable: true, Group: GroupProcess, Result: types.TUint64,
		Variants: []string{"uint64 goid"},
		Doc: `The number of the current goroutine, in probes on Go code. Code of the runtime that runs on a thread's own stack has the
number of the goroutine that it works for, 0 if there is none. Where the number is kept is taken from the program's debug
information; for programs without it, it is known for Go 1.21 to 1.26.`,
	},
	{
		ID: RoutineFrame, Names: []string{"goframe"}, Variable: true, Group: GroupProcess, Result: types.TUint64,
		Variants: []string{"uint64 goframe"},
		Doc: `In probes on Go code: the distance of the stack pointer from the end of the goroutine's stack. At the entry of a call
and at its return it is the same, also if the stack was moved in between, and no other open call of the goroutine has it:
(goid, goframe) is a key that pairs the two, whatever the recursion. On a thread's own stack, which is never moved, it is the
stack pointer.`,
	},
	{
		ID: UID, Names: []string{"uid"}, Variable: true, Group: GroupProcess, Result: types.TUint64,
		Variants: []string{"uint64 uid"},
		Doc:      `The user id of the current thread, as the initial user namespace sees it.`,
	},
	{
		ID: GID, Names: []string{"gid"}, Variable: true, Group: GroupProcess, Result: types.TUint64,
		Variants: []string{"uint64 gid"},
		Doc:      `The group id of the current thread, as the initial user namespace sees it.`,
	},
	{
		ID: UserName, Names: []string{"username"}, Variable: true, Group: GroupProcess, Result: types.TUsername,
		Variants: []string{"username_t username"},
		Doc: `The name of the current user. The record holds the user id; the name is looked up when it is printed. An id without a
name is printed as a number.`,
	},
	{
		ID: Comm, Names: []string{"comm"}, Variable: true, Min: 0, Max: 1, Group: GroupProcess, Result: types.StringOf(16),
		Variants: []string{"string comm", "string comm(uint32 pid)"},
		Doc: `The name of the current thread: at most 15 bytes, set by exec to the name of the program and changed by prctl or
pthread_setname_np. With an argument, that of the process or thread with this number, as pid and tid number them; it is
empty if there is none. That needs the kernel's type information. Where processes are numbered in a PID namespace of a
container, it is known while a task in there runs; in a probe on other tasks it is empty, and counted as a failed read.`,
	},
	{
		ID: CPID, Names: []string{"cpid"}, Variable: true, Group: GroupProcess, Result: types.TUint64, CompileTime: true,
		Variants: []string{"uint64 cpid"},
		Doc:      `The process that -c has started. Without -c it is 0, and a warning is printed when it is used; see has_cpid.`,
	},
	{
		ID: HasCPID, Names: []string{"has_cpid"}, Variable: true, Group: GroupProcess, Result: types.TBool, CompileTime: true,
		Variants: []string{"bool has_cpid"},
		Doc:      `Whether there is a cpid, that is, whether a program was started with -c.`,
	},
	{
		ID: PPID, Names: []string{"ppid"}, Variable: true, Min: 0, Max: 1, Group: GroupProcess,
		Variants: []string{"int32 ppid", "int32 ppid(struct task_struct *task)"},
		Doc: `The parent's process id, of the current task or of the one given: short for task.real_parent.pid. It needs the
kernel's type information.`,
	},
	{
		ID: PComm, Names: []string{"pcomm"}, Variable: true, Min: 0, Max: 1, Group: GroupProcess,
		Variants: []string{"string pcomm", "string pcomm(struct task_struct *task)"},
		Doc:      `The parent's name: short for task.real_parent.comm.`,
	},
	{
		ID: LeaderTID, Names: []string{"leader_tid"}, Variable: true, Min: 0, Max: 1, Group: GroupProcess,
		Variants: []string{"int32 leader_tid", "int32 leader_tid(struct task_struct *task)"},
		Doc:      `The thread id of the process's first thread: short for task.group_leader.pid.`,
	},
	{
		ID: LeaderComm, Names: []string{"leader_comm"}, Variable: true, Min: 0, Max: 1, Group: GroupProcess,
		Variants: []string{"string leader_comm", "string leader_comm(struct task_struct *task)"},
		Doc:      `The name of the process's first thread: short for task.group_leader.comm.`,
	},
	{
		ID: CurTask, Names: []string{"curtask"}, Variable: true, Group: GroupProcess,
		Variants: []string{"struct task_struct * curtask"},
		Doc: `The kernel's descriptor of the current task. Its fields can be used if the kernel has type information (BTF) or the
script defines struct task_struct.`,
	},
	{
		ID: Cgroup, Names: []string{"cgroup"}, Variable: true, Group: GroupProcess, Result: types.TUint64,
		Variants: []string{"uint64 cgroup"},
		Doc:      `The id of the cgroup (version 2) of the current process. Compare it with cgroupid, or print its path with cgroup_path.`,
	},
	{
		ID: SyscallID, Names: []string{"syscall_id"}, Variable: true, Group: GroupProcess, Result: types.TInt64,
		Variants: []string{"int64 syscall_id"},
		Doc: `The number of the system call that the current thread is in, in any kind of probe; -1 if it is in none, as when its
program runs or has caused a page fault, and in threads of the kernel. syscall_name() names it. It needs Linux 5.15.`,
	},
	{
		ID: Traced, Names: []string{"traced"}, Variable: true, Group: GroupProcess, Result: types.TBool,
		Variants: []string{"bool traced"},
		Doc: `Whether the current thread is one of those that -p, -c, --tid or --follow select; true without these. Probes fire
for no others, unless the setting filter_target is false: then this tells them apart.`,
	},
	{
		ID: Tracer, Names: []string{"tracer"}, Variable: true, Group: GroupProcess, Result: types.TBool,
		Variants: []string{"bool tracer"},
		Doc:      `Whether the current process is the one that this script is run by: what trocar does itself can be left out.`,
	},
}
