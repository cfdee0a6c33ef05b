//go:build !race

package dataset

// raced says that the race detector is there.
const raced = false
