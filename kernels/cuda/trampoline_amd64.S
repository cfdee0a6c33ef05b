//go:build gpu

// One jump through a slot for every CUDA function that the program names; load.c fills the slots.

.macro trampoline name
	.text
	.globl \name
	.type \name, @function
\name:
	jmp *slot_\name(%rip)
	.data
slot_\name:
	.quad prenorm_cuda_absent
.endm

	.data
	.balign 8
	.globl prenorm_cuda_slots
	.hidden prenorm_cuda_slots
prenorm_cuda_slots:

#define SYMBOL(name) trampoline name
#include "symbols.inc"

	.section .note.GNU-stack, "", @progbits
