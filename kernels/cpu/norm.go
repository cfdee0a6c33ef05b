package cpu

import "prenorm/kernels"

// statistic is view i of an optional group.
func statistic(views []kernels.View, i int) []float32 {
	if len(views) == 0 {
		return nil
	}
	return views[i].F32()
}

// unitOf is what is added to a stored gain.
func unitOf(unitOffset bool) float32 {
	if unitOffset {
		return 1
	}
	return 0
}
