package parity

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/train"
	"prenorm/train/safetensors"
)

// Check builds the model that the file describes, loads its weights, and compares it on the backend.
func Check(be kernels.Backend, path string, tol Tolerances) (Report, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return Report{}, err
	}
	r, err := check(be, f, tol)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return r, err
}

func check(be kernels.Backend, f *safetensors.File, tol Tolerances) (Report, error) {
	text, ok := f.Metadata["config"]
	if !ok {
		return Report{}, fmt.Errorf("the header's __metadata__ has no entry \"config\" that describes the model")
	}
	fc, err := decodeConfig(text)
	if err != nil {
		return Report{}, err
	}
	c, err := fc.model()
	if err != nil {
		return Report{}, err
	}
	k := checker{be: be, file: f, fc: fc, config: c, tol: tol.of(c)}
	if k.batch, err = k.readBatch(); err != nil {
		return Report{}, err
	}
	for _, part := range []func() error{k.logits, k.gradients, k.trajectory} {
		if err := part(); err != nil {
			return k.report, err
		}
	}
	k.report.Notes = append(k.report.Notes, k.unread()...)
	return k.report, nil
}

type checker struct {
	be     kernels.Backend
	file   *safetensors.File
	fc     fileConfig
	config model.Config
	tol    Tolerances
	batch  *batch.Batch
	report Report
}

func (k *checker) readBatch() (*batch.Batch, error) {
	b := &batch.Batch{B: k.fc.B, T: k.fc.T}
	for _, part := range []struct {
		name string
		dst  *[]int32
	}{{"input.tokens", &b.Inputs}, {"input.targets", &b.Targets}} {
		t, ok := k.file.Tensor(part.name)
		if !ok {
			return nil, fmt.Errorf("tensor %s is missing", part.name)
		}
		ids, err := t.I32()
		if err != nil {
			return nil, err
		}
		if len(ids) != b.B*b.T {
			return nil, fmt.Errorf("tensor %s has %d elements, B·T is %d", part.name, len(ids), b.B*b.T)
		}
		*part.dst = ids
	}
	return b, nil
}

// weights loads the file's tensors into a new model.
func (k *checker) weights() (*model.Weights, error) {
	if err := k.fits(); err != nil { // before memory is allocated for what the file may only claim to hold
		return nil, err
	}
	w, err := model.NewWeights(k.be, k.config)
	if err != nil {
		return nil, err
	}
	return w, w.Load(func(name string) ([]float32, []int, bool, error) {
		t, ok := k.file.Tensor(name)
		if !ok {
			return nil, nil, false, nil
		}
		x, err := t.ToF32()
		return x, t.Shape, true, err
	})
}

// fits wants the file to hold every parameter of the model that it describes.
func (k *checker) fits() error {
	table, err := model.Table(k.config)
	if err != nil {
		return err
	}
	for _, p := range table {
		if t, ok := k.file.Tensor(p.Name); !ok || !slices.Equal(t.Shape, p.Shape) {
			return fmt.Errorf("the metadata's config describes a model with %s %v, which the file does not hold", p.Name, p.Shape)
		}
	}
	return nil
}

func (k *checker) logits() error {
	want, ok, err := k.expected("output.logits")
	if err != nil || !ok {
		return err
	}
	// Before memory is allocated for what the file may only claim to hold.
	if all := k.fc.B * k.fc.T * k.config.Vocab; len(want) != all {
		return fmt.Errorf("tensor output.logits has %d elements, B·T·vocab is %d", len(want), all)
	}
	w, err := k.weights()
	if err != nil {
		return err
	}
	net, err := model.Build(k.config, model.Options{Mode: model.Logits, B: k.fc.B, T: k.fc.T})
	if err != nil {
		return err
	}
	plan, err := net.Plan(k.be, false)
	if err != nil {
		return err
	}
	program, err := plan.Bind(w.Views())
	if err != nil {
		return err
	}
	if err := program.Set(model.InTokens, k.batch.Inputs); err != nil {
		return err
	}
	if err := program.Run(); err != nil {
		return err
	}
	got := make([]float32, k.fc.B*k.fc.T*k.config.Vocab)
	if err := program.Get(model.OutLogits, got); err != nil {
		return err
	}
	fig := Figure{Kind: "logits"}
	for i := range got {
		fig.worst(fmt.Sprintf("row %d, token %d", i/k.config.Vocab, i%k.config.Vocab), math.Abs(float64(got[i])-float64(want[i])), k.tol.Logits)
	}
	k.report.Figures = append(k.report.Figures, fig)
	return nil
}

// expected reads figures; a tensor that the file lacks is noted.
func (k *checker) expected(name string) ([]float32, bool, error) {
	t, ok := k.file.Tensor(name)
	if !ok {
		k.report.Notes = append(k.report.Notes, "no "+name+" in the file: not compared")
		return nil, false, nil
	}
	x, err := t.ToF32()
	return x, true, err
}

// stepper makes a training step over the file's batch.
func (k *checker) stepper(a adamw) (*train.Stepper, *model.Weights, error) {
	w, err := k.weights()
	if err != nil {
		return nil, nil, err
	}
	s, err := train.NewStepper(w, train.StepOptions{Batch: k.fc.B, Context: k.fc.T, Accumulate: 1, Clip: a.Clip,
		Optimizer: train.Optimizer{Kind: "adamw", LR: a.LR, Betas: a.Betas, Eps: a.Eps, WeightDecay: a.WeightDecay}})
	return s, w, err
}

// gradients compares the loss and every gradient, from a step of learning rate 0.
func (k *checker) gradients() error {
	s, w, err := k.stepper(adamw{Betas: []float64{0.9, 0.95}, Eps: 1e-8})
	if err != nil {
		return err
	}
	result, err := s.Step(context.Background(), 1, 0, []*batch.Batch{k.batch})
	if err != nil {
		return err
	}
	loss, ok, err := k.loss()
	if err != nil {
		return err
	}
	if ok {
		fig := Figure{Kind: "loss"}
		fig.worst("", math.Abs(result.Loss-loss), k.tol.Loss*math.Abs(loss))
		fig.Where = fmt.Sprintf("%.9g, the file says %.9g", result.Loss, loss)
		k.report.Figures = append(k.report.Figures, fig)
	}
	return k.compareGrads(s, w)
}

// loss is the file's loss, from the metadata where it has all digits, else from the tensor.
func (k *checker) loss() (float64, bool, error) {
	if text, ok := k.file.Metadata["loss"]; ok {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, false, fmt.Errorf("metadata entry loss: %q is not a number", text)
		}
		return v, true, nil
	}
	x, ok, err := k.expected("output.loss")
	if err != nil || !ok {
		return 0, false, err
	}
	if len(x) != 1 {
		return 0, false, fmt.Errorf("tensor output.loss has %d elements, wants 1", len(x))
	}
	return float64(x[0]), true, nil
}

func (k *checker) compareGrads(s *train.Stepper, w *model.Weights) error {
	var all float64
	want := make([][]float32, len(w.Table))
	for i, p := range w.Table {
		x, ok, err := k.expected("grad." + p.Name)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if len(x) != p.Len() {
			return fmt.Errorf("tensor grad.%s has %d elements, the parameter %d", p.Name, len(x), p.Len())
		}
		want[i] = x
		all += norm(x) * norm(x)
	}
	all = math.Sqrt(all)
	fig := Figure{Kind: "gradients"}
	for i, p := range w.Table {
		if want[i] == nil {
			continue
		}
		got := make([]float32, p.Len())
		if err := k.be.Download(got, s.Grads().View(i)); err != nil {
			return err
		}
		fig.worst(p.Name, distance(got, want[i]), k.tol.Grad*norm(want[i])+k.tol.GradOfAll*all)
	}
	if fig.Where != "" {
		k.report.Figures = append(k.report.Figures, fig)
	}
	return nil
}

// trajectory repeats the file's AdamW steps on its one batch.
func (k *checker) trajectory() error {
	text, ok := k.file.Metadata["adamw"]
	if !ok {
		return nil
	}
	a, err := decodeAdamW(text)
	if err != nil {
		return err
	}
	s, _, err := k.stepper(*a)
	if err != nil {
		return err
	}
	loss, gradNorm := Figure{Kind: "adamw loss"}, Figure{Kind: "adamw gradient norm"}
	for i, want := range a.Steps {
		r, err := s.Step(context.Background(), int64(i)+1, a.LR, []*batch.Batch{k.batch})
		if err != nil {
			return err
		}
		where := fmt.Sprintf("step %d of %d", i+1, len(a.Steps))
		loss.worst(where, math.Abs(r.Loss-want[0]), k.tol.StepLoss*math.Max(want[0], 0.1))
		gradNorm.worst(where, math.Abs(r.GradNorm-want[1]), k.tol.StepGradNorm*want[1])
	}
	k.report.Figures = append(k.report.Figures, loss, gradNorm)
	return nil
}
