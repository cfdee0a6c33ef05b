package configs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"prenorm/configs/problem"
	"prenorm/kernels"
)

var (
	devices    = []string{"auto", "cpu", "cuda"}
	matmuls    = []string{"auto", "own", "cublas"}
	folderName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)
	// Windows keeps these names, with any ending, for devices.
	deviceName = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)
)

const (
	maxWorkers = 4096
	// maxPass bounds the tokens of one pass: positions and random counters are 32-bit.
	maxPass = 1<<31 - 1
	// maxRun bounds the tokens of a run, which are counted in 63 bits.
	maxRun = 1 << 60
)

// Problems returns every rule that the run breaks, its sections' rules and those between them. Keys are full.
func (r Run) Problems() problem.List {
	var l problem.List
	if !folderName.MatchString(r.Name) || deviceName.MatchString(r.Name) || strings.HasSuffix(r.Name, ".") {
		l.Addf("name", "%q cannot name a folder everywhere (letters, digits, dot, _ and -, not starting with . or -, at most 100)", printable(r.Name))
	}
	l = append(l, r.Data.Problems().Under("data")...)
	l = append(l, r.Model.Problems().Under("model")...)
	l = append(l, r.Train.Problems().Under("train")...)
	l = append(l, r.Checkpoint.Problems().Under("checkpoint")...)
	l.OneOf("device", r.Device, devices...)
	r.checkPrecision(&l)
	l.OneOf("kernels.matmul", r.Kernels.MatMul, matmuls...)
	l.Whole("workers", r.Workers, 0, maxWorkers)
	r.checkVocab(&l)
	r.checkTokens(&l)
	return l
}

// checkPrecision wants a GPU for what only a GPU computes. Where the device is auto, that shows when it is looked for.
func (r Run) checkPrecision(l *problem.List) {
	known := precisions()
	l.OneOf("precision", r.Precision, known...)
	if r.Device == "cpu" && r.Precision != string(kernels.PrecisionFP32) && slices.Contains(known, r.Precision) {
		l.Besidef("precision", "device", "%s needs a GPU and device is cpu (--set precision=fp32, or device: cuda)", r.Precision)
	}
}

func precisions() []string {
	var words []string
	for _, p := range kernels.Precisions() {
		words = append(words, string(p))
	}
	return words
}

func (r Run) checkVocab(l *problem.List) {
	known := r.Data.Tokenizer.KnownVocab()
	if r.Model.Vocab > 1 && r.Model.Vocab < known {
		l.Addf("model.vocab", "%d is smaller than the %s tokenizer's %d (0 takes the tokenizer's)", r.Model.Vocab, r.Data.Tokenizer.Kind, known)
	}
}

// checkTokens multiplies in floating point, which does not overflow. It says nothing where a factor is out of its own range.
func (r Run) checkTokens(l *problem.List) {
	pass := float64(r.Train.Batch) * float64(r.Model.Context)
	run := pass * float64(r.Train.Accumulate) * float64(r.Train.Steps)
	if r.Train.Batch < 1 || r.Model.Context < 1 || r.Train.Accumulate < 1 || r.Train.Steps < 1 {
		return
	}
	switch {
	case pass > maxPass:
		l.Addf("train.batch", "%d sequences of context %d are more than %d tokens in a pass (lower one of them)", r.Train.Batch, r.Model.Context, maxPass)
	case run > maxRun:
		l.Addf("train.steps", "%d steps are %s tokens, more than 2^60 (lower steps, batch or accumulate)", r.Train.Steps, fmt.Sprintf("%.2g", run))
	}
}

// Resolved returns r with the sizes that follow from others written out; see [prenorm/model.Config.Resolved].
func (r Run) Resolved() Run {
	r.Model = r.Model.Resolved()
	r.Train = r.Train.Resolved()
	return r
}
