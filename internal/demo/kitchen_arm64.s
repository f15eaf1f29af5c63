#include "textflag.h"

// The assembler saves the frame pointer and the link register in front of functions that have a frame.

// func order(table int64, dish *byte, cents, work int64)
TEXT ·order(SB), NOSPLIT, $16-32
	MOVD table+0(FP), R0
	MOVD dish+8(FP), R1
	MOVD cents+16(FP), R2
	MOVD work+24(FP), R3
	CALL kitchen_order(SB)
	RET

// kitchen_order(table, dish, cents, work)
TEXT kitchen_order(SB), NOSPLIT, $32-0
	MOVD R0, 8(RSP)
	MOVD R1, 16(RSP)
	MOVD R1, R0
	MOVD R3, R1
	CALL kitchen_cook(SB)
	MOVD 8(RSP), R0
	MOVD 16(RSP), R1
	CALL kitchen_serve(SB)
	RET

// kitchen_serve(table, dish)
TEXT kitchen_serve(SB), NOSPLIT, $16-0
	RET

// kitchen_cook(dish, work)
TEXT kitchen_cook(SB), NOSPLIT, $16-0
	LSR  $1, R1, R1
	MOVD R1, R0
	CALL kitchen_stir(SB)
	MOVD R1, R0
	CALL kitchen_stir(SB)
	RET

// kitchen_stir(turns); leaves R1 alone
TEXT kitchen_stir(SB), NOSPLIT, $16-0
stir:
	SUBS $1, R0
	BGT  stir
	RET
