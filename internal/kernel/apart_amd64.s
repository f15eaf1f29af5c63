#include "textflag.h"

// func cloneCall(stack unsafe.Pointer, nr, a, b, c uintptr, result *uintptr) (pid uintptr)
TEXT ·cloneCall(SB), NOSPLIT, $0-56
	MOVQ stack+0(FP), SI
	MOVQ nr+8(FP), R12
	MOVQ a+16(FP), R13
	MOVQ b+24(FP), BX
	MOVQ c+32(FP), R9
	MOVQ result+40(FP), R8
	MOVQ $0x511, DI // CLONE_VM, CLONE_FILES, SIGCHLD
	XORL DX, DX
	XORL R10, R10
	MOVL $56, AX // clone
	SYSCALL
	TESTQ AX, AX
	JEQ child
	MOVQ AX, pid+48(FP)
	RET

child: // on its own stack: no arguments by FP
	MOVL $112, AX // setsid
	SYSCALL
	MOVQ R13, DI
	MOVQ BX, SI
	MOVQ R9, DX
	MOVQ R12, AX
	SYSCALL
	MOVQ AX, (R8)
	XORL DI, DI
	MOVL $60, AX // exit
	SYSCALL
	INT $3
