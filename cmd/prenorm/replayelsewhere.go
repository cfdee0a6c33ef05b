package main

import (
	"fmt"
	"math"

	"prenorm/kernels"
	"prenorm/train"
	"prenorm/train/parity"
)

// ownProducts is what a GPU's backend says where it multiplies matrices itself, as any GPU can.
const ownProducts = "own"

// elsewhere says where a replay computes other than its step was recorded, "" for nowhere.
func elsewhere(be kernels.Backend, r train.Report) string {
	products := ""
	if m, ok := be.(kernels.Multiplier); ok {
		products = m.Multiplies()
	}
	switch precision := kernels.PrecisionOf(be); {
	case be.Name() != r.Device || string(precision) != r.Precision:
		return fmt.Sprintf("on %s in %s; bits are those of another device than %s in %s", be.Name(), precision, shown(r.Device), shown(r.Precision))
	case products != r.Products:
		return fmt.Sprintf("with matrix products of %s; bits are those of %s", products, shown(r.Products))
	}
	return ""
}

// difference says how far loss and gradient norm are from those that were recorded, and whether rounding explains that: the limits are those of
// one step in the recorded precision, see [parity.Of].
func difference(r train.Report, replayed train.Result) string {
	loss, norm := apart(float64(r.Loss), replayed.Loss), apart(float64(r.GradNorm), replayed.GradNorm)
	limit := parity.Of(kernels.Precision(r.Precision))
	text := fmt.Sprintf("loss differs by %.1e of it, gradient norm by %.1e", loss, norm)
	if loss <= limit.Loss && norm <= limit.Grad {
		return fmt.Sprintf("%s: within %.0e and %.0e, which is rounding", text, limit.Loss, limit.Grad)
	}
	return fmt.Sprintf("%s: more than %.0e and %.0e, which rounding explains", text, limit.Loss, limit.Grad)
}

// apart is by what share of the first two figures differ: 0 for two that are alike not finite, infinity where one alone is.
func apart(x, y float64) float64 {
	switch {
	case x == y || math.IsNaN(x) && math.IsNaN(y):
		return 0
	case math.IsNaN(x-y) || math.IsInf(x-y, 0) || x == 0:
		return math.Inf(1)
	}
	return math.Abs(y-x) / math.Abs(x)
}
