package builtin

import "trocar/internal/binary/types"

var memory = []Func{
	{
		ID: UAddr, Names: []string{"uaddr"}, Min: 1, Max: 1, Group: GroupMemory,
		Variants: []string{"uint64 * uaddr(const string symbol)"},
		Doc: `The address of a variable of the traced program or library, by the symbol's name, corrected for where the file is
loaded. If the symbol's size is 1, 2 or 4 bytes, the result points to a uint8, uint16 or uint32. Of a
thread-local variable (__thread, thread_local) it is the running thread's own, and so is errno.

In probes that are in no file, such as tracepoint, kprobe and profile, the program of the process that -p or -c names is meant;
where another process runs, the address is 0. begin, end, interval and iter run in no process of the script's: it is refused
there.

With debug information a variable that is in no function is written by its name alone, and has its type:
print(counter), config->name, ns::Class::count. Of several of that name the one counts that the probed function sees;
*uaddr("counter@FILE") is that of a source file, with its type.`,
	},
	{
		ID: KAddr, Names: []string{"kaddr"}, Min: 1, Max: 1, Group: GroupMemory, Result: types.TUint64, CompileTime: true,
		Variants: []string{"uint64 kaddr(const string symbol)"},
		Doc:      `The address of a kernel symbol (see /proc/kallsyms).`,
	},
	{
		ID: PerCPUKAddr, Names: []string{"percpu_kaddr"}, Min: 1, Max: 2, Group: GroupMemory,
		Variants: []string{"uint64 * percpu_kaddr(const string symbol [, int cpu])"},
		Doc: `The address of a variable of the kernel of which each CPU has its own, on the current or the given CPU; 0 if there
is no such CPU. The kernel's type information has to know it. Linux 5.10.`,
	},
	{
		ID: KPtr, Names: []string{"kptr"}, Min: 1, Max: 1, Group: GroupMemory,
		Variants: []string{"T * kptr(T *p)"},
		Doc:      `The same pointer, but what it points to is read from kernel memory.`,
	},
	{
		ID: UPtr, Names: []string{"uptr"}, Min: 1, Max: 1, Group: GroupMemory,
		Variants: []string{"T * uptr(T *p)"},
		Doc:      `The same pointer, but what it points to is read from the memory of the current process.`,
	},
	{
		ID: BSwap, Names: []string{"bswap"}, Min: 1, Max: 1, Group: GroupMemory,
		Variants: []string{
			"uint8 bswap(uint8 n)", "uint16 bswap(uint16 n)", "uint32 bswap(uint32 n)",
			"uint64 bswap(uint64 n)",
		},
		Doc: `The integer with its bytes in reverse order. Mind the type: a literal is as small as its value allows.`,
	},
	{
		ID: MemCmp, Names: []string{"memcmp"}, Min: 3, Max: 3, Group: GroupMemory, Result: types.TInt32,
		Variants: []string{"int32 memcmp(any a, any b, const uint64 n)"},
		Doc: `Compares the first n bytes of two values: 0 if they are equal, negative if the first byte that differs
is smaller in a, else positive.`,
	},
	{
		ID: IsErr, Names: []string{"is_err"}, Min: 1, Max: 1, Group: GroupMemory, Result: types.TBool,
		Variants: []string{"bool is_err(void *p)"},
		Doc:      `Whether a pointer returned by the kernel is an error number (-4095 to -1).`,
	},
	{
		ID: WriteUser, Names: []string{"write_user"}, Min: 3, Max: 3, Group: GroupMemory, Result: types.TBool, Unsafe: true,
		Variants: []string{"bool write_user(T *to, T *from, uint32 n)"},
		Doc:      `Writes bytes into the memory of the current process. This changes, and may break, the traced program.`,
	},
	{
		ID: Path, Names: []string{"path"}, Min: 1, Max: 2, Group: GroupMemory,
		Variants: []string{"string path(struct path *p [, const int size])"},
		Doc: `The name of a file by its struct path, which is reached from args or ctx without variables between. Only in
iterators, and in fentry and fexit probes of the functions in which the kernel allows it: security_file_permission,
security_inode_getattr, security_file_open, security_path_truncate, vfs_truncate, vfs_fallocate, dentry_open,
vfs_getattr and filp_close. Of a name that is longer than size, or than max_strlen, the end is left, and it is
counted as a failed read. Linux 5.10.`,
	},
	{
		ID: SkbOutput, Names: []string{"skboutput"}, Min: 4, Max: 4, Group: GroupMemory, Result: types.TUint32,
		Variants: []string{"uint32 skboutput(const string path, struct sk_buff *skb, uint64 length, const uint64 offset)"},
		Doc:      `Appends a packet to a pcap file. It is not available in this version.`,
	},
	{
		ID: SocketCookie, Names: []string{"socket_cookie"}, Min: 1, Max: 1, Group: GroupMemory, Result: types.TUint64,
		Variants: []string{"uint64 socket_cookie(struct sock *sk)"},
		Doc:      `A number that tells a socket from every other one. Only in fentry, fexit and similar probes.`,
	},
	{
		ID: Unwatch, Names: []string{"unwatch"}, Min: 1, Max: 1, Group: GroupMemory, Result: types.TNone, Async: true,
		Variants: []string{"void unwatch(void *address)"},
		Doc:      `Removes the watchpoints at an address. What they see until the record arrives is still reported.`,
	},
	{
		ID: ContainerOf, Names: []string{"container_of"}, Min: 3, Max: 3, Group: GroupMemory,
		Variants: []string{"T * container_of(void *p, typeof(T), member)"},
		Doc:      `The structure that holds a member, from the member's address: container_of($n, typeof(struct foo), n).`,
	},
}
