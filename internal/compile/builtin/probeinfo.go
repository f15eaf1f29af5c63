package builtin

import (
	"trocar/internal/binary/abi"
	"trocar/internal/binary/types"
)

var probeInfo = []Func{
	{
		ID: Probe, Names: []string{"probe"}, Variable: true, Group: GroupProbeInfo,
		Variants: []string{"string probe"},
		Doc: `The full name of the probe that was hit, for example "uprobe:/usr/bin/bash:readline". If an action has many probe
points, they share one program and the name is told by the point's number, so @[probe] = count() costs no more than
@ = count().`,
	},
	{
		ID: ProbeType, Names: []string{"probetype"}, Variable: true, Group: GroupProbeInfo, CompileTime: true,
		Variants: []string{"string probetype"},
		Doc: `The kind of the probe: "uprobe", "uretprobe", "interval" …; begin and end are "special". It is constant
when compiling, so it can decide an "if comptime".`,
	},
	{
		ID: FuncName, Names: []string{"func"}, Variable: true, Group: GroupProbeInfo,
		Variants: []string{"usym_t func", "ksym_t func"},
		Doc:      `The name of the traced function.`,
	},
	{
		ID: FuncArgs, Names: []string{"funcargs"}, Variable: true, Group: GroupProbeInfo,
		Variants: []string{"record funcargs"},
		Doc: `The arguments of whichever function was called, with their names, in uprobes of many functions: one program serves
all, while args takes one for each kind of arguments, and debug information is read of those only that are called. It has
numbers, pointers and texts that are passed in registers; others are not available. uprobe:libc:* { printf("%s%s\n", func, funcargs); }
prints each call.`,
	},
	{
		ID: FuncRetVal, Names: []string{"funcretval"}, Variable: true, Group: GroupProbeInfo,
		Variants: []string{"record funcretval"},
		Doc: `The result of whichever function returns, as its type is, in uretprobes of many functions: one program serves all. It is
a number, a pointer or a text; others are not available.`,
	},
	{
		ID: FuncReturn, Names: []string{"funcreturn"}, Variable: true, Group: GroupProbeInfo,
		Variants: []string{"record funcreturn"},
		Doc: `The same for the end of a line: " = " and the result, or nothing if the function returns nothing.
uretprobe:libc:* { printf("%s%s\n", func, funcreturn); } prints each return.`,
	},
	{
		ID: FuncReturns, Names: []string{"funcreturns"}, Variable: true, Group: GroupProbeInfo, Result: types.TUint8,
		Variants: []string{"uint8 funcreturns"},
		Doc: `In uprobes: 1 if the script has a uretprobe at the return of the function that was called, else 0, as of functions that
never return. What is kept of a call until it returns is taken back then.`,
	},
	{
		ID: CallFrame, Names: []string{"callframe"}, Variable: true, Group: GroupProbeInfo, Result: types.TUint64,
		Variants: []string{"uint64 callframe"},
		Doc: `The place of the frame of the call that begins or returns, in uprobes and uretprobes at functions: it is the same at
both ends, and no other call of the process has it that is open, but one whose function ended in a jump to this one. In Go, whose
stacks move, it is goframe, and goid is needed, too. @start[pid, callframe, func] keeps something until that call returns.`,
	},
	{
		ID: SyscallArgs, Names: []string{"syscall_args"}, Variable: true, Group: GroupProbeInfo,
		Variants: []string{"record syscall_args"},
		Doc: `The arguments of a system call where it begins, with names and with words for their numbers, in
tracepoint:syscalls:sys_enter_NAME and tracepoint:raw_syscalls:sys_enter: (dfd=AT_FDCWD, filename="/etc/hosts", flags=O_RDONLY).
One program serves all system calls. In a probe of a single one it has fields: syscall_args.flags.`,
	},
	{
		ID: SyscallDone, Names: []string{"syscall_done"}, Min: 1, Max: 1, Group: GroupProbeInfo,
		Variants: []string{"record syscall_done(record syscall_args)"},
		Doc: `What syscall_args was where the call began, with what is known only where it ends: what it has written, and texts that
could not be read before. tracepoint:raw_syscalls:sys_exit { printf("%s%s\n", syscall_name(args.id), syscall_done(@call[tid])); }
prints each call.`,
	},
	{
		ID: SyscallResult, Names: []string{"syscall_result"}, Variable: true, Group: GroupProbeInfo,
		Variants: []string{"enum syscall_result"},
		Doc: `The result of a system call where it ends: errors by name, and addresses as such. In a probe of a single system call
it is a number in expressions; args.ret is that always.`,
	},
	{
		ID: Args, Names: []string{"args"}, Variable: true, Group: GroupProbeInfo,
		Variants: []string{"struct args"},
		Doc: `The arguments by name, as the program's debug information (uprobe) or the kernel (tracepoint) tells them; of
functions of the C library that make system calls they are known without it, but not what a call may add (the mode of
open). args.x is one, print(args) shows all.`,
	},
	{
		ID: Vars, Names: []string{"vars"}, Variable: true, Group: GroupProbeInfo,
		Variants: []string{"struct vars"},
		Doc: `The local variables that are visible at the probed place, by name, as the program's debug information tells them: of most
use at a line (uprobe:FILE@SOURCE:LINE). vars.x is one, or a parameter of that name; print(vars) shows all. A variable that is not
set before the line is not available.`,
	},
	{
		ID: ArgN, Names: []string{"argN"}, Variable: true, Group: GroupProbeInfo, Result: types.TUint64,
		Variants: []string{"uint64 arg0, arg1, …"},
		Doc: `An argument by position, for uprobes from 0 by the C calling convention (integers and pointers in registers), for usdt
probes as the probe defines them. Cast it to what it is: (struct foo *)arg0, (int32)arg1. In Go code it is the parameter at that
position, the receiver first, if that is a single word; the others are there as args.NAME, and as args.arg0, args.arg1 … in
programs without debug information.`,
	},
	{
		ID: RetVal, Names: []string{"retval"}, Variable: true, Group: GroupProbeInfo, Result: types.TUint64,
		Variants: []string{"uint64 retval"},
		Doc: `The value that the traced function returns, in uretprobes. Where debug information tells its type, it has that;
elsewhere cast it if it is signed: (int32)retval. Several results are fields: retval.n, retval.r0 if they have no names.
retval.err is the error among them, or the only result if that is an error: retval.err != nil. Pointers, interfaces, slices,
maps, channels and functions may be compared with nil.`,
	},
	{
		ID: Duration, Names: []string{"duration"}, Variable: true, Group: GroupProbeInfo, Result: types.TUint64,
		Variants: []string{"uint64 duration"},
		Doc: `How long the call that returns took, in nanoseconds, in uretprobes of functions: each call is paired with its own
return, whatever recursion, exceptions or goroutines lie between. Calls that were under way when tracing began are left out,
predicate and all. uretprobe:./app:handle /duration > 1000000/ { @[func] = hist(duration / 1000); } needs no map of starts.`,
	},
	{
		ID: Reg, Names: []string{"reg"}, Min: 1, Max: 1, Group: GroupProbeInfo, Result: types.TUint64,
		Variants: []string{"uint64 reg(const string name)"},
		Doc:      "A register of the CPU at the probe, by name: " + abi.RegistersText() + ".",
	},
	{
		ID: Ctx, Names: []string{"ctx"}, Variable: true, Group: GroupProbeInfo,
		Variants: []string{"void * ctx"},
		Doc: "The address of the registers (or of the record) that the kernel passes to the program. " +
			"reg, argN and args are what you want.",
	},
	{
		ID: UserMode, Names: []string{"usermode"}, Variable: true, Group: GroupProbeInfo, Result: types.TUint8,
		Variants: []string{"uint8 usermode"},
		Doc: `1 if the CPU was running user code when the probe fired, 0 if it was in the kernel. Only on ` +
			abi.Having(" and ", func(a *abi.Arch) bool { return a.UserMode() != nil }) + `.`,
	},
}
