//go:build !amd64

package cpu

func vectorTiers() []*tier { return nil }
