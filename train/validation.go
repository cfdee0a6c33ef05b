package train

import (
	"fmt"

	"prenorm/train/metrics"
)

// validationShare is how many times more tokens are trained on between two validations than the advised one reads.
const validationShare = 10

// warnValidation is the warning of a run that spends more tokens on validation than on training, "" where it does not or where somebody chose
// so. Both are counted from the step at work to the run's end.
func (l *loop) warnValidation() string {
	steps := int64(l.Train.Steps)
	if l.ValidationChosen || l.Train.Eval.Windows > 0 || l.state.Step >= steps {
		return ""
	}
	var windows, longest int64
	for _, reader := range l.validation {
		windows += reader.Windows()
		longest = max(longest, reader.Windows())
	}
	left, times := steps-l.state.Step, Falls(l.Train.Eval.Every, l.state.Step, steps)
	perStep := int64(l.Train.Batch) * int64(l.Model.Context) * int64(max(l.Train.Accumulate, 1))
	read, trained := float64(times)*float64(windows)*float64(l.Model.Context), float64(left)*float64(perStep) // as integers they may overflow
	advised, share := l.fewerWindows(trained / float64(times))
	if read <= trained || advised >= longest {
		return ""
	}
	return fmt.Sprintf("warning: validation reads more than training: %s of all %s, %s tokens, beside %s in %s (--set train.eval.windows=%d makes one %s)",
		inWords(int(times), "validation"), inWords(int(windows), "window"), metrics.Count(read), metrics.Count(trained), inWords(int(left), "step"), advised, share)
}

// fewerWindows is train.eval.windows for validations beside so many tokens of training each: whole batches, as the rest of one is computed
// in vain, and one at least. share is what such a validation is, in words.
func (l *loop) fewerWindows(between float64) (windows int64, share string) {
	size := int64(l.Train.Batch)
	batches := int64(between / validationShare / float64(l.Model.Context) / float64(len(l.validation)) / float64(size))
	if batches < 1 {
		return size, "a single batch of each text"
	}
	return batches * size, "about a tenth of the training between two"
}

// showValidation has the progress of a validation shown until the function that it returns is called.
func (l *loop) showValidation() (end func()) {
	if l.progress == nil {
		return func() {}
	}
	var done, total int64
	for _, reader := range l.validation {
		total += batchesOf(reader.Windows(), l.Train.Batch)
	}
	part := l.progress.Begin("validation", l.state.Step)
	l.evaluator.after = func() {
		done++
		part.Show(done, total)
	}
	return func() {
		l.evaluator.after = nil
		part.End()
	}
}
