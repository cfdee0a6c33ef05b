package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"prenorm/train/bench"
	"prenorm/train/metrics"
)

func printBench(w io.Writer, r *bench.Report) {
	device := r.Device
	if r.GPU != "" {
		device += " (" + r.GPU + ")"
	}
	if r.Workers > 0 {
		device += fmt.Sprintf(", %s", counted(r.Workers, "worker"))
	}
	if r.MatMul != "" {
		device += ", matrix products: " + r.MatMul
	}
	fmt.Fprintf(w, "%s: %s parameters, %s × %s × %d accumulated, %s\n%s\n", r.Name, metrics.Count(float64(r.Parameters)), counted(r.Batch, "sequence"), counted(r.Context, "token"), r.Accumulate, r.Precision, device)
	fmt.Fprintln(w, "\nceilings, measured")
	t := newTable(1)
	t.row("copy", fmt.Sprintf("%.1f GB/s", r.Ceilings.Copy), "read and written")
	if r.Ceilings.Peak > 0 {
		if r.Ceilings.Read > 0 {
			t.row("reading", fmt.Sprintf("%.1f GB/s", r.Ceilings.Read))
		} else {
			t.row("reading", "", "not measured: no room for 512 MiB")
		}
		t.row("multiply-adds", fmt.Sprintf("%.1f GFLOP/s", r.Ceilings.Peak), "in registers")
	}
	t.row("matrix product", fmt.Sprintf("%.1f GFLOP/s", r.Ceilings.MatMul), fmt.Sprintf("%d×%d×%d", r.Ceilings.Square, r.Ceilings.Square, r.Ceilings.Square))
	t.write(w, "  ")
	if r.Ceilings.Disturbed() {
		fmt.Fprintln(w, "  A product was faster than multiply-adds in registers, so other programs were at work: measure again on a quiet machine.")
	}
	printKernels(w, r.Kernels)
	if r.Train != nil {
		printTraining(w, r.Train)
	}
	printSampling(w, r.Sample)
}

func printKernels(w io.Writer, rows []bench.Kernel) {
	if len(rows) == 0 {
		return
	}
	naive := false
	for _, k := range rows {
		naive = naive || k.Naive > 0
	}
	fmt.Fprintln(w, "\nkernels of a training step, each shape alone")
	t := newTable(2, 3, 4, 5, 6, 7)
	header := []string{"kernel", "shape", "launches", "time", "GFLOP/s", "GB/s", "of ceiling"}
	if naive {
		header = append(header, "naive")
	}
	t.row(header...)
	for _, k := range rows {
		cells := []string{k.Kernel, k.Shape, fmt.Sprint(k.Launches), took(k.Seconds), speed(k.GFLOPs), speed(k.GBs), percent(k.Share)}
		if k.Naive > 0 {
			cells = append(cells, fmt.Sprintf("%.1f×", k.Naive))
		}
		t.row(cells...)
	}
	t.write(w, "  ")
}

func printTraining(w io.Writer, m *bench.Train) {
	fmt.Fprintln(w, "\ntraining")
	t := newTable(1)
	t.row("step, median", took(m.Median), fmt.Sprintf("of %d, the best %s", m.Steps, took(m.Min)))
	t.row("tokens/s", metrics.Count(m.Tokens))
	t.row("GFLOP/s", speed(m.GFLOPs), fmt.Sprintf("%s of the measured ceiling of arithmetic", percent(m.ShareOfPeak)))
	t.row("memory", metrics.Bytes(m.Memory), "weights, gradients, optimizer, activations; as planned")
	t.write(w, "  ")
	fmt.Fprintf(w, "\nkernels of the step, launches timed one by one: %s in all, beside the step's median of %s\n", took(m.InKernels()), took(m.Median))
	t = newTable(1, 2, 3, 4, 5, 6)
	t.row("kernel", "launches", "time", "of these", "GFLOP/s", "GB/s", "of ceiling")
	for _, k := range m.Kernels {
		t.row(k.Kernel, fmt.Sprint(k.Launches), took(k.Seconds), percent(k.Of), speed(k.GFLOPs), speed(k.GBs), percent(k.Share))
	}
	t.row("in all", "", took(m.InKernels()))
	t.write(w, "  ")
}

func printSampling(w io.Writer, all []bench.Sample) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "\nsampling, one sequence: prompts of %s, and writing\n", counted(all[0].Prompt, "token"))
	t := newTable(1, 2, 3, 4, 5, 6, 7)
	t.row("weights", "prompt tokens/s", "tokens/s", "of fp32", "bytes a token", "GB/s", "reading GB/s", "of reading")
	for _, s := range all {
		if s.Decode == 0 { // a context of one token leaves nothing to write after the first
			t.row(s.Weights, metrics.Count(s.Prefill), "none", "", metrics.Bytes(s.BytesPerToken))
			continue
		}
		t.row(s.Weights, metrics.Count(s.Prefill), metrics.Count(s.Decode), fmt.Sprintf("%.2f×", s.Decode/all[0].Decode), metrics.Bytes(s.BytesPerToken), speed(s.GBs), speed(s.Reading), percent(s.Share))
	}
	t.write(w, "  ")
}

// printRatios compares with older figures.
func printRatios(w io.Writer, old, now *bench.Report) {
	ratios, differ := bench.Compare(old, now)
	fmt.Fprintln(w, "\nagainst the older figures, above 1 is faster now")
	for _, d := range differ {
		fmt.Fprintf(w, "  not alike: %s\n", d)
	}
	if shared := func(r bench.Ratio) bool { return !strings.HasPrefix(r.What, "ceiling of ") }; !slices.ContainsFunc(ratios, shared) {
		fmt.Fprintln(w, "  the older file has none of the parts that were measured now, only the ceilings can be compared")
	}
	t := newTable(1, 2, 4)
	for _, r := range ratios {
		t.row(r.What, metrics.Count(r.Old), metrics.Count(r.New), r.Unit, fmt.Sprintf("%.2f×", r.Ratio))
	}
	t.write(w, "  ")
}

// took is a short time for people, to three digits or so.
func took(seconds float64) string {
	switch d := time.Duration(seconds * 1e9); {
	case d >= time.Second:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return fmt.Sprintf("%.2f ms", 1e3*seconds)
	default:
		return fmt.Sprintf("%.1f µs", 1e6*seconds)
	}
}

// speed is a rate, blank where there is none.
func speed(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", x)
}

func percent(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }
