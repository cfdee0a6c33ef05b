package parity

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/train"
	"prenorm/train/safetensors"
)

// Tolerances of a comparison.
type Tolerances struct {
	Logits       float64 // largest absolute difference
	Loss         float64 // relative
	Grad         float64 // ‖Δ‖ ≤ Grad·‖g‖ + GradOfAll·‖all gradients‖: some gradients are zero in exact arithmetic
	GradOfAll    float64
	StepLoss     float64 // of the trajectory, times max(loss, 0.1)
	StepGradNorm float64 // of the trajectory, relative
}

// Default are the tolerances for float32 programs.
var Default = Tolerances{Logits: 2e-5, Loss: 1e-6, Grad: 1e-4, GradOfAll: 1e-7, StepLoss: 1e-4, StepGradNorm: 1e-3}

// BF16 are the tolerances for bfloat16 programs, whose operands of products are rounded to u = 2^-8 relative. A logit has passed some dozen
// roundings on its way through three blocks, which add up like a random walk, and the logits of the files are below 10: a few u of that. The loss
// averages over rows, so it is better by the root of their number. A gradient passes the same way back. The trajectory adds them up over 20
// steps, to a loss of a few tenths whose gradient is small beside its error. The reference in bfloat16, which rounds where the policy of
// model/exec says and nowhere else, reaches logits 0.11, loss 1.1e-3, gradients 3.7 %, trajectory 1 % and 15 % on the worst of 24 models (none and
// olmo2, whose sub-layers read a stream that no norm bounds); another order of the same sums adds to that.
var BF16 = Tolerances{Logits: 0.16, Loss: 2e-3, Grad: 0.06, GradOfAll: 1e-3, StepLoss: 0.03, StepGradNorm: 0.3}

// Of returns the tolerances for a backend's precision. Factors in tf32 have 2^-11, an eighth of the error of bfloat16, and only in products.
func Of(p kernels.Precision) Tolerances {
	switch p {
	case kernels.PrecisionBF16:
		return BF16
	case kernels.PrecisionTF32:
		return BF16.Scaled(1.0 / 8)
	}
	return Default
}

// Scaled multiplies every tolerance.
func (t Tolerances) Scaled(f float64) Tolerances {
	return Tolerances{t.Logits * f, t.Loss * f, t.Grad * f, t.GradOfAll * f, t.StepLoss * f, t.StepGradNorm * f}
}

// Figure is the worst error of one kind.
type Figure struct {
	Kind  string  // "logits", "loss", "gradients", "adamw loss", "adamw gradient norm"
	Where string  // the tensor or step of the worst error
	Error float64 // in units of the tolerance: at most 1 passes
	Value float64 // as measured
	Limit float64 // what Value may be
}

// OK says whether the figure is within its tolerance; NaN is not.
func (f Figure) OK() bool { return f.Error <= 1 }

// Report is the outcome for one file.
type Report struct {
	Figures []Figure
	Notes   []string // what the file does not hold, and so was not compared
}

// OK says whether every figure is within its tolerance.
func (r Report) OK() bool {
	for _, f := range r.Figures {
		if !f.OK() {
			return false
		}
	}
	return len(r.Figures) > 0
}

// worst keeps the larger of two figures.
func (f *Figure) worst(where string, value, limit float64) {
	e := value / limit
	if value == 0 {
		e = 0
	}
	if math.IsNaN(value) || math.IsNaN(e) {
		e = math.Inf(1)
	}
	if f.Where == "" || e > f.Error {
		f.Where, f.Value, f.Limit, f.Error = where, value, limit, e
	}
}

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
	k := checker{be: be, file: f, fc: fc, config: c, tol: tol}
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
	if len(want) != len(got) {
		return fmt.Errorf("tensor output.logits has %d elements, B·T·vocab is %d", len(want), len(got))
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

// unread names tensors of the file that the model has no place for.
func (k *checker) unread() []string {
	table, err := model.Table(k.config)
	if err != nil {
		return nil
	}
	known := map[string]bool{}
	for _, p := range table {
		known[p.Name] = true
	}
	var extra []string
	for _, t := range k.file.Tensors {
		name := strings.TrimPrefix(strings.TrimPrefix(t.Name, "grad."), "trained.")
		if !known[name] && !strings.HasPrefix(name, "input.") && !strings.HasPrefix(name, "output.") {
			extra = append(extra, "tensor "+t.Name+" has no place in the model")
		}
	}
	return extra
}

func norm(x []float32) float64 { return distance(x, make([]float32, len(x))) }

func distance(x, y []float32) float64 {
	var sum float64
	for i := range x {
		d := float64(x[i]) - float64(y[i])
		sum += d * d
	}
	return math.Sqrt(sum)
}
