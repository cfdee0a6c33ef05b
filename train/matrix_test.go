package train

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/cpu"
	"prenorm/model/block"
)

// option is a run of the matrix: its name and how it differs from the tiny job.
type option struct {
	name   string
	change func(*Job)
}

// optionMatrix is every norm placement with every optimizer, with and without accumulation and dropout, and every other option that a run's state
// depends on: kinds of norm, initialisation, position, MLP, schedule, tokenizer and text.
func optionMatrix(t *testing.T) (all []option) {
	for _, placement := range block.Names() {
		for _, optimizer := range []string{"adamw", "sgd"} {
			for i := range 4 {
				accumulate, dropout := 1+2*(i%2), 0.1*float64(i/2)
				all = append(all, option{fmt.Sprintf("%s/%s/accumulate=%d/dropout=%g", placement, optimizer, accumulate, dropout), func(j *Job) {
					layers := 2
					if p, ok := block.Lookup(placement); ok {
						layers = max(layers, p.MinLayers)
					}
					j.Model = j.Model.WithPlacement(placement)
					j.Model.Layers, j.Model.Dropout = layers, dropout
					j.Train.Optimizer.Kind, j.Train.Optimizer.Momentum, j.Train.Accumulate = optimizer, 0.9, accumulate
				}})
			}
		}
	}
	add := func(name string, change func(*Job)) { all = append(all, option{name, change}) }
	for _, kind := range []string{"rmsnorm", "layernorm", "dyt", "batchnorm"} {
		add("norm/"+kind, func(j *Job) { j.Model.Norm.Kind = kind })
	}
	for _, kind := range []string{"auto", "fan_in", "xavier", "gpt2"} {
		for _, residual := range []string{"auto", "scaled", "plain"} {
			add("init/"+kind+"/"+residual, func(j *Job) { j.Model.Init.Kind, j.Model.Init.Residual = kind, residual })
		}
	}
	for _, kind := range []string{"constant", "cosine", "linear", "wsd"} {
		add("schedule/"+kind, func(j *Job) { j.Train.Schedule.Kind, j.Train.Schedule.Decay = kind, 0.4 })
	}
	add("position/learned", func(j *Job) { j.Model.Position.Kind = "learned" })
	add("mlp/gelu, biases, untied, soft caps, one key-value head, a window, norms of heads", func(j *Job) {
		j.Model.MLP, j.Model.Bias, j.Model.Tied, j.Model.LogitSoftcap, j.Model.Attention.Softcap = "gelu_tanh", "all", false, 30, 50
		j.Model.KVHeads, j.Model.Attention.Window, j.Model.Attention.QKNorm = 1, []int{4, 0}, "head"
	})
	add("no inspection, no clipping", func(j *Job) { j.Train.Inspect.Every, j.Train.Clip = 0, 0 })
	for _, kind := range []string{"byte", "char", "bpe"} {
		for _, text := range []string{"one file", "several files", "validation apart", "epochs within the run"} {
			add("data/"+kind+"/"+text, func(j *Job) {
				j.Data.Tokenizer.Kind, j.Data.Tokenizer.Vocab = kind, 270
				texts(t, j, text)
			})
		}
	}
	return all
}

// texts gives a job other files with the same words.
func texts(t *testing.T, j *Job, kind string) {
	whole, err := os.ReadFile(j.Data.Train[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	switch kind {
	case "several files":
		for i := range 12 {
			put(fmt.Sprintf("%02d.txt", i), whole[i*len(whole)/12:(i+1)*len(whole)/12])
		}
		j.Data.Train = []string{dir}
	case "validation apart":
		j.Data.Val.Files = []string{put("val.txt", whole[:len(whole)/8])}
		j.Data.Train = []string{put("a.txt", whole[len(whole)/8:]), put("b.md", whole)}
	case "epochs within the run": // a step of nine windows reads more than there is
		j.Data.Train, j.Data.Val.Fraction = []string{put("small.txt", whole[:260])}, 0.4
	}
}

// checkResumed stops a run of an option twice, after a step and within one, goes on on other backends, and compares every byte that is left at
// the end with a run that was not stopped.
func checkResumed(t *testing.T, o option, first kernels.Backend, others [2]kernels.Backend) {
	t.Helper()
	whole := tinyJob(t)
	whole.Train.Steps, whole.Checkpoint.Every, whole.Train.Eval.Every, whole.Train.Sample.Every, whole.Train.Inspect.Every = 7, 2, 3, 5, 3
	o.change(&whole)
	parts := whole
	parts.Dir = filepath.Join(t.TempDir(), "parts")
	parts.Out = &bytes.Buffer{}
	if _, err := Run(context.Background(), first, whole); err != nil {
		t.Fatalf("%s: %v", o.name, err)
	}
	resumed := 0
	for round := 0; ; round++ {
		ctx := context.Context(&stopAfter{context.Background(), 3 * (1 + whole.Train.Accumulate)}) // between two micro-batches, where there are several
		if parts.MaxStep = 0; round == 1 {
			ctx, parts.MaxStep = context.Background(), 5
		} else if round > 1 {
			ctx = context.Background()
		}
		out, err := Run(ctx, others[round%2], parts)
		if err != nil || round > 3 {
			t.Fatalf("%s: round %d: %v", o.name, round, err)
		}
		if out.Stopped == "" {
			break
		}
		resumed++
	}
	if resumed != 2 {
		t.Errorf("%s: was stopped %d times", o.name, resumed)
	}
	want, have := result(t, whole.Dir), result(t, parts.Dir)
	compared := 0
	for name, content := range want {
		if last := fmt.Sprintf("step-%08d", whole.Train.Steps); !strings.Contains(name, last) && name != MetricsFile {
			continue
		}
		compared++
		if have[name] != content {
			t.Errorf("%s: %s differs: %s", o.name, name, firstDifference(have[name], content))
		}
	}
	if compared < 6 {
		t.Errorf("%s: only %d files were compared", o.name, compared)
	}
}

// TestResumeMatrix resumes runs of every option with other numbers of workers. PRENORM_SLOW=1 takes every option, else one of so many.
func TestResumeMatrix(t *testing.T) {
	every := 24
	if os.Getenv("PRENORM_SLOW") != "" {
		every = 1
	}
	var backends [3]kernels.Backend
	for i, workers := range []int{2, 1, 3} {
		backends[i] = cpu.New(workers)
		defer backends[i].Close()
	}
	all, held := optionMatrix(t), 0
	for i := 0; i < len(all); i += every {
		o := all[i]
		checkResumed(t, o, backends[0], [2]kernels.Backend(backends[1:]))
		held++
	}
	if t.Failed() {
		return
	}
	t.Logf("%d of %d options are the same after two stops", held, len(all))
}
