package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"prenorm/configs"
	"prenorm/configs/problem"
	"prenorm/data/baseline"
	"prenorm/data/regular"
	"prenorm/train"
	pages "prenorm/train/lab/report"
	"prenorm/train/metrics"
)

// lossFormats are the formats of a plot of losses, by extension.
var lossFormats = []string{"png", "svg"}

// recordsOf reads what a run has measured.
func recordsOf(dir string) ([]metrics.Record, error) {
	path := filepath.Join(dir, train.MetricsFile)
	if !exists(path) && exists(filepath.Join(dir, train.ConfigFile)) {
		return nil, fmt.Errorf("%s holds no %s: nothing was trained yet, or it was removed; a run that goes on begins it anew", dir, train.MetricsFile)
	}
	if !exists(path) {
		such := "such as runs/quickstart"
		if run := train.RunOf(dir); run != dir {
			such = run
		}
		return nil, fmt.Errorf("%s holds no %s%s: give the folder of a run, %s", dir, train.MetricsFile, problem.MeantPath(dir), such)
	}
	return metrics.Read(path)
}

// drawLoss draws a run's losses over its steps, with the lines of reference of its text, and says where the last one stands.
func drawLoss(w io.Writer, path, dir string) error {
	records, err := recordsOf(dir)
	if err != nil {
		return err
	}
	f, lines := lossFigure(records)
	f.Title = titleOf(dir)
	if len(f.Series[0].X) == 0 {
		return fmt.Errorf("%s: no step is recorded: %s", dir, whyUnrecorded(dir, records))
	}
	draw := f.PNG
	if strings.HasSuffix(strings.ToLower(path), ".svg") {
		draw = f.SVG
	}
	picture, err := draw()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, picture, 0o666); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: the loss of %d recorded steps\n", path, len(f.Series[0].X))
	last := f.Series[1]
	if len(last.Y) == 0 {
		last = f.Series[0]
	}
	end := len(last.Y) - 1
	if stand := lines.Stand(last.Y[end]); stand != "" && lines != (baseline.Lines{}) {
		fmt.Fprintf(w, "the %s of step %.0f is %s\n", last.Name, last.X[end], stand)
	}
	return nil
}

// whyUnrecorded says why a run's measurements, which are given, hold no update.
func whyUnrecorded(dir string, records []metrics.Record) string {
	for _, r := range records {
		if l, ok := r.(metrics.Lines); ok && l.Step > 0 {
			return fmt.Sprintf("%s begins at step %d, what was measured before is gone, and no update was recorded since", train.MetricsFile, l.Step)
		}
	}
	text, err := regular.ReadFile(filepath.Join(dir, train.ConfigFile))
	if err == nil {
		if c, err := configs.Parse(train.ConfigFile, text, nil); err == nil && c.Run.Train.Log.Every > 0 {
			return fmt.Sprintf("the run records every %s (train.log.every), and has not come so far, or its records were removed", counted(c.Run.Train.Log.Every, "step"))
		}
	}
	return "train with train.log.every above 0"
}

// lossFigure is the plot of the losses, that of training before that of validation, and the lines in it.
func lossFigure(records []metrics.Record) (pages.Figure, baseline.Lines) {
	training, validation := pages.Series{Name: "training loss"}, pages.Series{Name: "validation loss"}
	var lines baseline.Lines
	for _, r := range records {
		switch r := r.(type) {
		case metrics.Train:
			training.X, training.Y = append(training.X, float64(r.Step)), append(training.Y, float64(r.Loss))
		case metrics.Eval:
			validation.X, validation.Y = append(validation.X, float64(r.Step)), append(validation.Y, float64(r.Loss))
		case metrics.Lines:
			lines = baseline.Lines{Uniform: float64(r.Uniform), Unigram: float64(r.Unigram), Bigram: float64(r.Bigram)}
		}
	}
	f := pages.Figure{Name: "loss", X: "step", Y: "nats a token", Series: []pages.Series{training, validation}}
	if lines != (baseline.Lines{}) {
		f.Lines = []pages.Line{{Name: "ln V", Y: lines.Uniform}, {Name: "unigram", Y: lines.Unigram}, {Name: "bigram", Y: lines.Bigram}}
	}
	return f, lines
}
