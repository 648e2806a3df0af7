package unwind

// StackPointer is the DWARF number of the stack pointer.
const StackPointer = 7

const (
	framePointer      = 6
	framesEndAtCaller = true
)
