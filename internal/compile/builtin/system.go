package builtin

import "trocar/internal/binary/types"

var system = []Func{
	{
		ID: Exit, Names: []string{"exit"}, Variable: false, Min: 0, Max: 1, Group: GroupSystem, Async: true,
		Result:   types.TNone,
		Variants: []string{"void exit([int code])"},
		Doc:      `Ends tracing, with an exit status (0). The action ends at once; end probes still run and maps are printed.`,
	},
	{
		ID: Assert, Names: []string{"assert"}, Min: 2, Max: 2, Group: GroupSystem, Result: types.TNone, Async: true,
		Variants: []string{"void assert(bool condition, string message)"},
		Doc:      `If the condition is false, prints the message as an error and ends tracing with status 1.`,
	},
	{
		ID: Signal, Names: []string{"signal"}, Min: 1, Max: 1, Group: GroupSystem, Result: types.TNone, Unsafe: true,
		Variants: []string{"void signal(const string name)", "void signal(uint32 number)"},
		Doc:      `Sends a signal to the current process: signal("SIGSTOP"), signal(9).`,
	},
	{
		ID: SignalThread, Names: []string{"signal_thread"}, Min: 1, Max: 1, Group: GroupSystem, Result: types.TNone,
		Unsafe:   true,
		Variants: []string{"void signal_thread(const string name)", "void signal_thread(uint32 number)"},
		Doc:      `Sends a signal to the current thread.`,
	},
	{
		ID: Override, Names: []string{"override"}, Min: 1, Max: 1, Group: GroupSystem, Result: types.TNone, Unsafe: true,
		Variants: []string{"void override(uint64 rc)"},
		Doc:      `Makes the probed kernel function return rc without running. Only in kprobes on functions that allow error injection.`,
	},
	{
		ID: CPU, Names: []string{"cpu"}, Variable: true, Group: GroupSystem, Result: types.TUint64,
		Variants: []string{"uint64 cpu"},
		Doc:      `The number of the CPU the probe runs on.`,
	},
	{
		ID: NCPUs, Names: []string{"ncpus"}, Variable: true, Group: GroupSystem, Result: types.TUint64,
		Variants: []string{"uint64 ncpus"},
		Doc:      `The number of CPUs of the machine.`,
	},
	{
		ID: NUMAID, Names: []string{"numaid"}, Variable: true, Group: GroupSystem, Result: types.TUint64,
		Variants: []string{"uint64 numaid"},
		Doc:      `The NUMA node of the CPU the probe runs on.`,
	},
	{
		ID: Rand, Names: []string{"rand"}, Variable: true, Group: GroupSystem, Result: types.TUint64,
		Variants: []string{"uint64 rand"},
		Doc:      `A random number of 32 bits.`,
	},
	{
		ID: CgroupID, Names: []string{"cgroupid"}, Min: 1, Max: 1, Group: GroupSystem, Result: types.TUint64,
		CompileTime: true,
		Variants:    []string{"uint64 cgroupid(const string path)"},
		Doc:         `The id of the cgroup (version 2) of a directory, to compare with cgroup.`,
	},
	{
		ID: CgroupPath, Names: []string{"cgroup_path"}, Min: 1, Max: 2, Group: GroupSystem, Result: types.TCgroupPath,
		Async:    true,
		Variants: []string{"cgroup_path_t cgroup_path(uint64 id [, const string filter])"},
		Doc: `The directory of a cgroup by its id. It is looked up when the value is printed. The filter is a glob for
the hierarchy's name ("unified" is version 2).`,
	},
}
