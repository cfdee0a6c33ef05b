//go:build !linux && !darwin

package main

// memoryBytes is the machine's memory; 0 = not known.
func memoryBytes() uint64 { return 0 }
