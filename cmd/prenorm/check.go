package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"prenorm/kernels"
	"prenorm/train/metrics"
	"prenorm/train/parity"
)

type checkFlags struct {
	device    string
	precision string
	workers   int
	rtol      float64
	asJSON    bool
}

func newCheck() *cobra.Command {
	f := &checkFlags{}
	cmd := &cobra.Command{
		Use:   "check FILE.safetensors...",
		Short: "compare this program's figures with those of another implementation",
		Long: `Compare logits, loss, every gradient and a course of AdamW steps with the figures that another implementation wrote to a safetensors
file together with its weights. The file's metadata describes the model. For each kind of figure the worst error is printed with its
limit; above a limit the exit code is 1.

--rtol is the limit of a gradient's error relative to its norm; the other limits move in proportion. The usual one is 1e-4, and 0.04 with
--precision bf16.`,
		Example: `  prenorm check train/parity/testdata/*.safetensors
  prenorm check figures.safetensors --device ref --rtol 1e-5 --json`,
		Args: arguments(1, -1, "safetensors files"),
		RunE: f.run,
	}
	cmd.Flags().StringVar(&f.device, "device", "cpu", "cpu, cuda, or ref for the reference kernels")
	cmd.Flags().IntVar(&f.workers, "workers", 0, "threads of the CPU backend, 0 = all cores")
	cmd.Flags().StringVar(&f.precision, "precision", string(kernels.PrecisionFP32), "fp32, tf32 or bf16")
	cmd.Flags().Float64Var(&f.rtol, "rtol", 0, "limit of the gradients' relative error, 0 = that of the precision; the other limits move in proportion")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write the figures as JSON")
	must(cmd.RegisterFlagCompletionFunc("precision", cobra.FixedCompletions([]string{"fp32", "tf32", "bf16"}, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("device", cobra.FixedCompletions([]string{"cpu", "cuda", "ref"}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// checkRecord is the outcome for one file.
type checkRecord struct {
	File    string        `json:"file"`
	OK      bool          `json:"ok"`
	Error   string        `json:"error,omitempty"`
	Figures []checkFigure `json:"figures"`
	Notes   []string      `json:"notes,omitempty"`
}

type checkFigure struct {
	Kind  string        `json:"kind"`
	OK    bool          `json:"ok"`
	Error metrics.Float `json:"error"`
	Limit metrics.Float `json:"limit"`
	Where string        `json:"where"`
}

func (f *checkFlags) run(cmd *cobra.Command, files []string) error {
	if !(f.rtol >= 0 && f.rtol <= 1) {
		return wrongUsage(cmd, "--rtol %g: wants a number above 0, up to 1, or 0 for the usual one", f.rtol)
	}
	precision := kernels.Precision(f.precision)
	if !slices.Contains(kernels.Precisions(), precision) {
		return wrongUsage(cmd, "--precision %s: wants one of %v", f.precision, kernels.Precisions())
	}
	be, err := f.open(cmd, kernels.Options{Workers: f.workers, Precision: precision})
	if err != nil {
		return err
	}
	defer be.Close()
	tolerances := parity.Of(precision)
	if f.rtol > 0 {
		tolerances = tolerances.Scaled(f.rtol / tolerances.Grad)
	}
	records, ok := []checkRecord{}, true
	var failures []error
	for _, file := range files {
		report, err := parity.Check(be, file, tolerances)
		r := recordOf(file, report, err)
		ok = ok && r.OK
		if err != nil {
			failures = append(failures, err)
		}
		if records = append(records, r); !f.asJSON && err == nil {
			r.print(cmd)
		}
	}
	if f.asJSON {
		if err := writeJSON(cmd.OutOrStdout(), records); err != nil {
			return err
		}
	}
	if len(failures) == 0 && !ok {
		return errReported
	}
	return errors.Join(failures...)
}

// open starts the device's backend. What it cannot do on any machine is a mistake of the command line.
func (f *checkFlags) open(cmd *cobra.Command, o kernels.Options) (kernels.Backend, error) {
	switch be, err := openBackend(f.device, o, cmd.ErrOrStderr()); {
	case err == nil:
		return be, nil
	case f.device == "cuda":
		return nil, ofCheck(err)
	case needsGPU(o) && slices.Contains(deviceWords, f.device):
		return nil, wrongUsage(cmd, "--precision %s: the CPU computes in fp32 alone (--precision fp32, --device cuda, or --device ref for bf16)", o.Precision)
	default:
		return nil, usageError{err}
	}
}

func recordOf(file string, report parity.Report, err error) checkRecord {
	r := checkRecord{File: file, OK: err == nil && report.OK(), Notes: report.Notes, Figures: []checkFigure{}}
	if err != nil {
		r.Error = err.Error()
	}
	for _, g := range report.Figures {
		r.Figures = append(r.Figures, checkFigure{g.Kind, g.OK(), metrics.Float(g.Value), metrics.Float(g.Limit), g.Where})
	}
	return r
}

func (r checkRecord) print(cmd *cobra.Command) {
	out := cmd.OutOrStdout()
	verdict := map[bool]string{true: "ok", false: "FAIL"}
	fmt.Fprintf(out, "%-4s  %s\n", verdict[r.OK], filepath.Base(r.File))
	t := newTable(2, 3)
	for _, g := range r.Figures {
		t.row(verdict[g.OK], g.Kind, fmt.Sprintf("%.2g", g.Error), fmt.Sprintf("limit %.2g", g.Limit), g.Where)
	}
	t.write(out, "      ")
	for _, n := range r.Notes {
		fmt.Fprintf(out, "      note: %s\n", n)
	}
}
