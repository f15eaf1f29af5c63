#include "textflag.h"

// func cloneWaiter(stack, state unsafe.Pointer) (tid uintptr)
TEXT ·cloneWaiter(SB), NOSPLIT, $0-24
	MOVQ stack+0(FP), SI
	MOVQ state+8(FP), R12
	// CLONE_VM, CLONE_FS, CLONE_FILES, CLONE_SIGHAND, CLONE_THREAD, CLONE_SYSVSEM, CLONE_PARENT_SETTID, CLONE_CHILD_CLEARTID
	MOVQ $0x350f00, DI
	LEAQ 32(R12), DX
	LEAQ 32(R12), R10
	XORL R8, R8
	MOVL $56, AX // clone
	SYSCALL
	TESTQ AX, AX
	JEQ wait
	MOVQ AX, tid+16(FP)
	RET

wait: // on its own stack, which it does not use
	MOVQ R12, DI
	MOVL $2, SI
	MOVQ $-1, DX
	MOVL $7, AX // poll
	SYSCALL
	CMPQ AX, $-4 // EINTR: it is woken by what is no signal, too
	JEQ wait
	TESTQ AX, AX
	JLT end
	CMPW 14(R12), $0 // the event
	JNE end
	TESTW $0x38, 6(R12) // POLLERR, POLLHUP, POLLNVAL
	JNE end
	MOVQ 24(R12), AX
	MOVQ (AX), AX
	MOVQ 16(R12), CX
	MOVQ AX, (CX)
	JMP wait

end:
	XORL DI, DI
	MOVL $60, AX // exit, of this thread
	SYSCALL
	INT $3

// func storesState() bool
TEXT ·storesState(SB), NOSPLIT, $0-1
	MOVL $1, AX
	XORL CX, CX
	CPUID
	SHRL $27, CX // OSXSAVE (Intel SDM, volume 2, CPUID)
	ANDL $1, CX
	MOVB CX, ret+0(FP)
	RET
