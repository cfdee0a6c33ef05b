//go:build race

package dataset

// raced says that the race detector is there, which has memory of its own for each byte.
const raced = true
