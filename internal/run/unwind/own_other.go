//go:build !amd64

package unwind

// StackPointer is the DWARF number of the stack pointer on AArch64. Nothing is known of other machines.
const StackPointer = 31

const (
	framePointer      = 29
	framesEndAtCaller = false
)
