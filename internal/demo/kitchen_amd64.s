#include "textflag.h"

// The assembler puts "push rbp; mov rbp, rsp" in front of functions that have a frame.

// func order(table int64, dish *byte, cents, work int64)
TEXT ·order(SB), NOSPLIT, $8-32
	MOVQ table+0(FP), DI
	MOVQ dish+8(FP), SI
	MOVQ cents+16(FP), DX
	MOVQ work+24(FP), CX
	CALL kitchen_order(SB)
	RET

// kitchen_order(table, dish, cents, work)
TEXT kitchen_order(SB), NOSPLIT, $24-0
	MOVQ DI, 0(SP)
	MOVQ SI, 8(SP)
	MOVQ SI, DI
	MOVQ CX, SI
	CALL kitchen_cook(SB)
	MOVQ 0(SP), DI
	MOVQ 8(SP), SI
	CALL kitchen_serve(SB)
	RET

// kitchen_serve(table, dish)
TEXT kitchen_serve(SB), NOSPLIT, $8-0
	RET

// kitchen_cook(dish, work)
TEXT kitchen_cook(SB), NOSPLIT, $8-0
	SHRQ $1, SI
	MOVQ SI, DI
	CALL kitchen_stir(SB)
	MOVQ SI, DI
	CALL kitchen_stir(SB)
	RET

// kitchen_stir(turns); leaves SI alone
TEXT kitchen_stir(SB), NOSPLIT, $8-0
stir:
	SUBQ $1, DI
	JG   stir
	RET
