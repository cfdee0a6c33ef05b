package bench

import "fmt"

// Ratio compares one figure of two reports.
type Ratio struct {
	What     string
	Unit     string
	Old, New float64
	Ratio    float64 // of speeds: above 1 the new one is faster
}

// absurd is above every figure of a report.
const absurd = 1e18

// Compare compares what both reports have. Times are turned into speeds, so that above 1 is always better. differ names what is not alike.
func Compare(old, now *Report) (ratios []Ratio, differ []string) {
	for _, d := range []struct {
		what     string
		old, now any
	}{
		{"model", old.Name, now.Name}, {"device", old.Device, now.Device}, {"gpu", old.GPU, now.GPU}, {"precision", old.Precision, now.Precision},
		{"matmul", old.MatMul, now.MatMul}, {"workers", old.Workers, now.Workers}, {"batch", old.Batch, now.Batch},
		{"accumulate", old.Accumulate, now.Accumulate}, {"context", old.Context, now.Context}, {"parameters", old.Parameters, now.Parameters},
	} {
		if d.old != d.now {
			differ = append(differ, fmt.Sprintf("%s %v, now %v", d.what, d.old, d.now))
		}
	}
	add := func(what, unit string, was, is float64) {
		// A report of somebody's making may have a time of nothing, or of ages: nothing is to be learned from it.
		if min(was, is) > 1/absurd && max(was, is) < absurd {
			ratios = append(ratios, Ratio{what, unit, was, is, is / was})
		}
	}
	add("ceiling of copies", "GB/s", old.Ceilings.Copy, now.Ceilings.Copy)
	add("ceiling of reading", "GB/s", old.Ceilings.Read, now.Ceilings.Read)
	add("ceiling of multiply-adds", "GFLOP/s", old.Ceilings.Peak, now.Ceilings.Peak)
	add("ceiling of products", "GFLOP/s", old.Ceilings.MatMul, now.Ceilings.MatMul)
	if o, n := old.Train, now.Train; o != nil && n != nil {
		add("training", "tokens/s", o.Tokens, n.Tokens)
		add("training, best step", "steps/s", 1/o.Min, 1/n.Min)
	}
	for _, n := range now.Sample {
		for _, o := range old.Sample {
			if o.Weights == n.Weights {
				add("prefill, "+n.Weights+" weights", "tokens/s", o.Prefill, n.Prefill)
				add("decoding, "+n.Weights+" weights", "tokens/s", o.Decode, n.Decode)
			}
		}
	}
	was := map[string]Kernel{}
	for _, k := range old.Kernels {
		was[k.Kernel+" "+k.Shape] = k
	}
	for _, k := range now.Kernels {
		if o, ok := was[k.Kernel+" "+k.Shape]; ok {
			add(k.Kernel+" "+k.Shape, "launches/s", 1/o.Seconds, 1/k.Seconds)
		}
	}
	return ratios, differ
}
