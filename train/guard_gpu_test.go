//go:build gpu

package train

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prenorm/kernels"
	"prenorm/model"
	"prenorm/model/block"
	"prenorm/model/exec"
)

// unfused is a backend that refuses every launch which passes make of two.
type unfused struct{ kernels.Backend }

func (u unfused) Workspace(c kernels.Call, a kernels.Args) (int, error) {
	if m, ok := c.(kernels.MatMul); ok && m != (kernels.MatMul{TransA: m.TransA, TransB: m.TransB}) || strings.HasPrefix(c.Kernel(), "add_") {
		return 0, fmt.Errorf("%s is refused here", c.Kernel())
	}
	return u.Backend.Workspace(c, a)
}

// plantedLoop is a run on a backend that skips every step which is held back, each with a bundle.
func plantedLoop(t *testing.T, be kernels.Backend, c model.Config) *loop {
	t.Helper()
	j := guarded(t, GuardSkip)
	j.Model = c
	j.Model.Vocab, j.Model.Init.Std = 0, 0.2 // the tokenizer's, and weights that make every gradient larger than zero
	j.Data.Tokenizer.Kind = "char"
	j.Train.Steps, j.Train.Batch, j.Train.Accumulate, j.Train.Inspect.Every, j.Checkpoint.Every = 1<<20, 2, 2, 0, 0
	j.Train.Guard = Guard{Policy: GuardSkip, Window: 2, Limit: 3, Factor: 1, Every: 1, Bundles: 1 << 20}
	l := &loop{Job: j, be: be, began: time.Now()}
	if err := os.MkdirAll(l.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := l.prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	return l
}

// plantedKey names a kind of output of a launch, so that each kind is spoilt once.
func plantedKey(s exec.StepInfo, output int, pass string) string {
	name := s.Kernel
	if m, ok := s.Call.(kernels.MatMul); ok {
		name = fmt.Sprintf("%s%+v", name, m)
	}
	return fmt.Sprint(name, " ", output, s.Args.Out[output].DType, " ", pass)
}

// TestGuardOnGPU plants NaN in every kind of output of every kernel of a training step on the GPU, in each precision, and minus infinity where
// launches are not fused: the step is held back, nothing changes, the op is named, and the bundle gives the same bits again. In tf32 it is done to
// products alone: the other launches are those of fp32.
func TestGuardOnGPU(t *testing.T) {
	nan, infinity := float32(math.NaN()), float32(math.Inf(-1))
	for _, c := range []struct {
		precision kernels.Precision
		fused     bool
		value     float32
		outputs   int // kinds of outputs at the least
	}{
		{kernels.PrecisionFP32, true, nan, 55},
		{kernels.PrecisionFP32, false, infinity, 45},
		{kernels.PrecisionTF32, true, nan, 7},
		{kernels.PrecisionTF32, false, infinity, 3},
		{kernels.PrecisionBF16, true, nan, 65},
		{kernels.PrecisionBF16, false, infinity, 50},
	} {
		t.Run(fmt.Sprintf("%s/fused=%v", c.precision, c.fused), func(t *testing.T) {
			gpu := openGPU(t, kernels.Options{Precision: c.precision, MatMul: "own"})
			defer gpu.Close()
			p := planting{planter: plant(gpu), done: map[string]bool{}}
			p.value = c.value
			p.be = onGPU{p.planter, gpu}
			if !c.fused {
				p.be = onGPU{unfused{p.planter}, gpu}
			}
			if c.precision == kernels.PrecisionTF32 {
				p.only = kernels.MatMul{}.Kernel()
			}
			for _, kind := range slices.Sorted(maps.Keys(kinds())) {
				model := kinds()[kind]
				model.Layers = 1 // a second has no other launches
				if placement, ok := block.Lookup(model.Norm.Placement); ok {
					model.Layers = max(1, placement.MinLayers)
				}
				model.Attention.Window = model.Attention.Window[:min(len(model.Attention.Window), model.Layers)]
				p.spoilRun(t, kind, model)
			}
			if p.models < 1 || len(p.done) < c.outputs {
				t.Errorf("%d kinds of outputs of %d models were spoilt", len(p.done), p.models)
			}
			t.Logf("%d kinds of outputs of %d models were spoilt, %d steps were held back and replayed", len(p.done), p.models, p.held)
		})
	}
}

// planting spoils one output after the other on a backend.
type planting struct {
	*planter
	be     kernels.Backend // the planter, as a run wants it
	only   string          // the kernel to be spoilt, "" = all
	done   map[string]bool // kinds of outputs, by [plantedKey]
	models int             // that had one which was not done yet
	held   int             // steps
}

// place is an output of a launch, and what is to be said of it.
type place struct {
	launch, output int // the first in the order of binding
	info           exec.StepInfo
	want           Finding
}

// places are the outputs of a program of a kind that is not done yet.
func (p *planting) places(plan *exec.Plan) (list []place) {
	pass := passForward
	for i, info := range plan.Steps() {
		if info.Kernel == "linear_cross_entropy.grad" {
			pass = passBackward
		}
		if p.only != "" && info.Kernel != p.only {
			continue
		}
		for k := range info.Args.Out {
			if key := plantedKey(info, k, pass); !p.done[key] {
				p.done[key] = true
				list = append(list, place{i, k, info, Finding{Path: info.Path, Pass: pass, Kernel: info.Kernel}})
			}
		}
	}
	return list
}

// spoilRun spoils a run of a model in all places that are not done yet, and those around its passes, and wants it to be well in the end.
func (p *planting) spoilRun(t *testing.T, kind string, c model.Config) {
	plan, err := planTrain(p.be, c, StepOptions{Batch: 2, Context: c.Context, Accumulate: 2})
	if err != nil {
		t.Fatal(err)
	}
	places := p.places(plan)
	if len(places) == 0 {
		return
	}
	p.models++
	p.args, p.launch = nil, -1
	l := plantedLoop(t, p.be, c)
	defer l.close()
	s := l.stepper
	first := len(s.zero) + len(s.judge) + len(s.update) + len(s.keep) + len(s.restore)
	for i := range places {
		places[i].launch += first
	}
	if p.models == 1 {
		norm, sum := s.judge[0].info, s.plain.addLoss[0].info
		places = append(places, place{len(s.zero), 0, norm, Finding{Path: pathNorm, Pass: passStep, Kernel: norm.Kernel}},
			place{first + plan.Launches(), 0, sum, Finding{Path: pathLossSum, Pass: passStep, Kernel: sum.Kernel}})
	}
	for _, at := range places {
		p.launch, p.output = at.launch, at.output
		p.wantHeldBack(t, fmt.Sprintf("%s, %v in output %d of %s", kind, p.value, at.output, at.info), l, at.want)
	}
	p.launch = -1
	if held := l.state.Guard.Total; l.step(context.Background()) != nil || l.state.Guard.Total != held {
		t.Errorf("%s: a step that is well is held back:\n%s", kind, l.Out)
	}
}

// wantHeldBack wants the next step of a run to be held back, with a bundle, and nothing to have changed.
func (p *planting) wantHeldBack(t *testing.T, what string, l *loop, want Finding) {
	t.Helper()
	ctx, total := context.Background(), l.state.Guard.Total
	l.state.Guard.Held = nil // as many in a row would end the run
	before := present(t, l.weights, l.stepper, 0)
	defer before.Free()
	for _, p.whole = range []bool{false, true} { // one value may be dropped
		if err := l.step(ctx); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if l.state.Guard.Total > total {
			break
		}
		if err := before.restore(); err != nil {
			t.Fatal(err)
		}
	}
	if l.state.Guard.Total == total && (want.Kernel == "batchnorm.update" || math.IsInf(float64(p.value), 0)) {
		return // running statistics are not read in training; and a bound, such as that of tanh, makes infinity finite
	}
	p.held++
	after := present(t, l.weights, l.stepper, 0)
	defer after.Free()
	if d := differences(t, before, after); !d.Same() {
		t.Errorf("%s: %v changed", what, d)
	}
	file := filepath.Join(l.Dir, BundleFolder, fmt.Sprintf("step-%08d.zip", l.state.Step))
	b, err := ReadBundle(file)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if f := b.Report.First; f == nil || !f.Same(want) || f.Bad < 1 || len(b.Report.Spoiled) > 0 {
		t.Errorf("%s: found %v, wants %v; %v spoiled", what, f, want, b.Report.Spoiled)
	}
	p.args = nil // a replay binds the same launches in the same order
	c := l.Model
	c.Vocab = l.weights.Config.Vocab
	r, err := Replay(ctx, l.be, b, c, l.Train, l.Seed)
	if err != nil || r.Applied() || !r.SameBits(b) || !r.SameFinding(b) || inJSON(r.Diagnosis) != inJSON(b.Report.Diagnosis) {
		t.Errorf("%s: replayed %+v, %v, %v; recorded %v, %v", what, r.Result, r.First, err, b.Report.Loss, b.Report.First)
	}
	if err := os.Remove(file); err != nil {
		t.Error(err)
	}
}

func inJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestPoliciesOnGPU follows each policy on the GPU: what a step that was held back leaves, and what a rewind brings back, is the state of the step
// that is said, to the bit.
func TestPoliciesOnGPU(t *testing.T) {
	open := gpuFaults(t, kernels.Options{MatMul: "own"})
	t.Run(GuardStop, func(t *testing.T) {
		j := guarded(t, GuardStop)
		j.Checkpoint.Every = 1
		o, err := runOn(open, j)
		held, _ := events(t, j)
		if err == nil || len(held) != 1 || !strings.Contains(err.Error(), "embed_tokens.grad") || o.Step != held[0].Attempt-1 || held[0].Action != GuardStop {
			t.Fatalf("%+v, %v, %+v", o, err, held)
		}
		whole := j
		whole.Dir, whole.MaxStep = t.TempDir(), o.Step
		if _, err := runOn(open, whole); err != nil {
			t.Fatal(err)
		}
		saved := savedAt(t, whole, o.Step)
		wantSameTensors(t, saved, savedAt(t, j, o.Step))
		b, err := ReadBundle(filepath.Join(j.Dir, filepath.FromSlash(held[0].Bundle)))
		if err != nil {
			t.Fatal(err)
		}
		wantSameTensors(t, saved, b.State)
	})
	t.Run(GuardSkip, func(t *testing.T) {
		j := guarded(t, GuardSkip)
		j.Checkpoint.Every, j.Train.Steps = 1, 13
		if _, err := runOn(open, j); err != nil {
			t.Fatal(err)
		}
		held, trained := events(t, j)
		if len(held) < 2 || len(held)+len(trained) != j.Train.Steps {
			t.Fatalf("%d steps held back, %d trained of %d", len(held), len(trained), j.Train.Steps)
		}
		for _, e := range held {
			wantSameTensors(t, savedAt(t, j, e.Attempt-1), savedAt(t, j, e.Attempt))
		}
	})
	t.Run(GuardRewind, func(t *testing.T) { checkRewound(t, open, 13) })
}
