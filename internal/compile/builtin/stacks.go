package builtin

import "trocar/internal/binary/types"

var stacks = []Func{
	{
		ID: UStack, Names: []string{"ustack"}, Variable: true, Min: 0, Max: 2, Group: GroupStacks,
		Variants: []string{"ustack_t ustack", "ustack_t ustack([mode,] [const int limit])"},
		Doc: `The call stack of the current thread in user space, innermost frame first, at most limit frames (127, up to 1024). The mode
is how it is printed: bpftrace (symbol+offset), perf (address, symbol, file), raw (addresses) or build_id (build id and file
offset). Stacks are equal as map keys if their addresses are. The stack is walked by the tables that programs and
libraries have for exceptions and debuggers (.eh_frame), so frame pointers are not needed; where code has none, as that
of JIT compilers or of the C library musl, and before Linux 6.1, by frame pointers; how many stacks that was is told.`,
	},
	{
		ID: DwUStack, Names: []string{"dw_ustack"}, Variable: true, Min: 0, Max: 2, Group: GroupStacks,
		Variants: []string{"ustack_t dw_ustack", "ustack_t dw_ustack([mode,] [const int limit])"},
		Doc:      `The same as ustack, whose stacks are walked by the tables of programs and libraries (.eh_frame) from Linux 6.1 on.`,
	},
	{
		ID: KStack, Names: []string{"kstack"}, Variable: true, Min: 0, Max: 2, Group: GroupStacks,
		Variants: []string{"kstack_t kstack", "kstack_t kstack([mode,] [const int limit])"},
		Doc:      `The call stack in the kernel; empty if the thread was running user code.`,
	},
	{
		ID: USym, Names: []string{"usym"}, Min: 1, Max: 1, Group: GroupStacks, Result: types.TUSym,
		Variants: []string{"usym_t usym(uint64 addr)"},
		Doc:      `The name of the function of the current process at an address: usym(reg("ip")).`,
	},
	{
		ID: KSym, Names: []string{"ksym"}, Min: 1, Max: 1, Group: GroupStacks, Result: types.TKSym,
		Variants: []string{"ksym_t ksym(uint64 addr)"},
		Doc:      `The name of the kernel function at an address.`,
	},
}
