package train

import (
	"fmt"
	"io"
	"slices"

	"prenorm/train/safetensors"
)

// Names of the files in a bundle that hold the batches of the steps before. A bundle of a run's first step has neither, nor has one of an
// older version of prenorm, and an older version passes over them.
const (
	beforeTextFile = "before.txt"
	beforeFile     = "before.safetensors"
)

// addBefore adds the batches of the steps before to the files of a bundle.
func (b *bundle) addBefore(add func(name string, content func(io.Writer) error)) {
	if len(b.before) == 0 {
		return
	}
	add(beforeTextFile, func(w io.Writer) error {
		for i, micros := range b.before {
			if _, err := fmt.Fprintf(w, "%v\n\n", b.report.Before[i]); err != nil {
				return err
			}
			if err := b.texts(w, micros); err != nil {
				return err
			}
		}
		return nil
	})
	add(beforeFile, func(w io.Writer) error { return safetensors.Write(w, batchTensors(slices.Concat(b.before...)), nil) })
}

// BeforeLines are lines for people on the steps before, oldest first.
func (b *Bundle) BeforeLines() []string {
	var lines []string
	for i, r := range b.Report.Before {
		n := 0
		for _, m := range b.Before[i] {
			n += countTargets(m)
		}
		lines = append(lines, fmt.Sprintf("%v  %s to predict", r, inWords(n, "token")))
	}
	return lines
}

// parseBefore reads the batches of the steps before. A bundle of a run's first step has none, nor has one of an older version of prenorm.
func (b *Bundle) parseBefore(files map[string][]byte) error {
	list := b.Report.Before
	if len(list) == 0 {
		return nil
	}
	for i, r := range list {
		if want := b.Report.Step - int64(len(list)-i); r.Step != want {
			return fmt.Errorf("%s: before: step %d in the place of step %d", reportFile, r.Step, want)
		}
	}
	if files[beforeFile] == nil || files[beforeTextFile] == nil {
		return fmt.Errorf("has no %s or no %s, and %s names steps before", beforeFile, beforeTextFile, reportFile)
	}
	micros, err := parseBatches(files[beforeFile])
	if err != nil {
		return fmt.Errorf("%s: %w", beforeFile, err)
	}
	n, m := len(b.Micros), b.Micros[0]
	if len(micros) != n*len(list) || micros[0].B != m.B || micros[0].T != m.T {
		return fmt.Errorf("%s: %d micro-batches of %d sequences of %d tokens, wants those of %d steps like this one: %d of %d of %d",
			beforeFile, len(micros), micros[0].B, micros[0].T, len(list), n*len(list), m.B, m.T)
	}
	b.Before, b.BeforeText = slices.Collect(slices.Chunk(micros, n)), string(files[beforeTextFile])
	return nil
}
