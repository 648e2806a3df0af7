#include "textflag.h"

// func Now() int64
TEXT ·Now(SB), NOSPLIT, $0-8
	MOVQ ·mult(SB), CX
	TESTQ CX, CX
	JZ slow
	RDTSC
	SHLQ $32, DX
	ORQ DX, AX
	SUBQ ·origin(SB), AX
	MULQ CX
	SHRQ $32, DX, AX
	ADDQ ·base(SB), AX
	MOVQ AX, ret+0(FP)
	RET
slow:
	JMP ·slowNow(SB)

// func rdtsc() uint64
TEXT ·rdtsc(SB), NOSPLIT, $0-8
	RDTSC
	SHLQ $32, DX
	ORQ DX, AX
	MOVQ AX, ret+0(FP)
	RET

// func cpuid(leaf uint32) (eax, ebx, ecx, edx uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	XORL CX, CX
	CPUID
	MOVL AX, eax+8(FP)
	MOVL BX, ebx+12(FP)
	MOVL CX, ecx+16(FP)
	MOVL DX, edx+20(FP)
	RET
