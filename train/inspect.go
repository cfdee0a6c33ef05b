package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"prenorm/data/batch"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/model/exec"
	"prenorm/model/graph"
	"prenorm/train/metrics"
)

// inspectedMicro is the micro-batch whose pass is looked at.
const inspectedMicro = 0

// inspector runs the first micro-batch of a step by a program that observes the streams, and looks at the matrices around the update. The
// program shares the arena of the plain one, which is free between passes, and the weights before the update lie there too: inspection wants
// memory for its results alone, where that arena is large enough for each.
type inspector struct {
	stepper *Stepper
	plan    *exec.Plan
	seen    []graph.Observation
	pass    *pass // nil until it is used
	moments [][4]float32

	before, after []bound // around the update
	memory        kernels.Arena
	results       kernels.View // of after
	host          staged[float32]
}

// newInspector compiles the observing program.
func newInspector(s *Stepper) (*inspector, error) {
	net, err := model.Build(s.weights.Config, model.Options{Mode: model.Train, B: s.options.Batch, T: s.options.Context, Documents: s.options.Documents, Inspect: true})
	if err != nil {
		return nil, err
	}
	plan, err := net.Plan(s.weights.Backend(), s.options.Accumulate > 1)
	if err != nil {
		return nil, err
	}
	return &inspector{stepper: s, plan: plan, seen: net.Observed, moments: make([][4]float32, len(net.Observed))}, nil
}

// InspectBytes is the arena that a step wants which is inspected now and then, for the two programs and the weights' slab.
func InspectBytes(plain, inspecting *exec.Plan, weights int) int {
	return max(plain.Bytes(), inspecting.Bytes(), weights)
}

// InspectResults is the memory that the results of an inspection want, and the workspace behind them.
func InspectResults(be kernels.Backend, table []model.Param) (results, work int, err error) {
	n := model.Decayed(table)
	for _, p := range table[:n] {
		x := kernels.Shaped(kernels.F32, p.Shape...)
		w, err := be.Workspace(kernels.Moments{}, kernels.Args{Out: []kernels.View{kernels.Shaped(kernels.F32, 4)}, In: []kernels.View{x, x}})
		if err != nil {
			return 0, 0, err
		}
		work = max(work, w)
	}
	return 2 * n * smallStride, work, nil
}

// open binds the program and what runs around the update, at the first use.
func (in *inspector) open() error {
	if in.pass != nil {
		return nil
	}
	s := in.stepper
	pass, err := s.bindPass(in.plan)
	if err != nil {
		return err
	}
	if err := in.bindUpdate(); err != nil {
		return err
	}
	in.pass = pass
	return nil
}

// matrices is how many tensors at the start of the table are looked at.
func (in *inspector) matrices() int { return model.Decayed(in.stepper.weights.Table) }

// bindUpdate binds the copy of the weights before the update, their change after it, and the moments of both.
func (in *inspector) bindUpdate() error {
	s, be, n := in.stepper, in.stepper.weights.Backend(), in.matrices()
	weights := s.weights.Slab.Range(0, n)
	change := s.arena.View(0, kernels.F32, weights.Len())
	size, work, err := InspectResults(be, s.weights.Table)
	if err != nil {
		return err
	}
	if in.memory, err = be.NewArena(size + work); err != nil {
		return err
	}
	in.results = in.memory.View(0, kernels.F32, size/4)
	in.host = stage[float32](size / 4)
	b := binder{be: be}
	in.before = []bound{b.bind("inspect.before", kernels.Scale{Factor: -1}, change, weights)}
	in.after = []bound{b.bind("inspect.change", kernels.Add{}, change, change, weights)}
	space := in.memory.View(size, kernels.I8, work)
	for i := range n {
		w, at := s.weights.Slab.View(i), s.weights.Slab.Offset(i)*4
		d := s.arena.View(at, kernels.F32, w.Shape...)
		for k, pair := range [][]kernels.View{{s.grads.View(i), d}, {w, w}} {
			out := in.memory.View((2*i+k)*smallStride, kernels.F32, 4)
			in.after = append(in.after, b.args("inspect."+s.weights.Table[i].Name, kernels.Moments{}, kernels.Args{Out: []kernels.View{out}, In: pair, Work: space}))
		}
	}
	s.work = append(s.work, b.work...)
	return b.err
}

// begin copies the weights before the update, negated, to the arena, which no pass needs any more in this step.
func (in *inspector) begin() error {
	in.stepper.turn = nil
	return in.stepper.launch(in.before)
}

// read takes what was observed to the host, before the arena is used for anything else.
func (in *inspector) read() error {
	for i, o := range in.seen {
		v, err := in.pass.program.View(o.Name)
		if err != nil {
			return err
		}
		if err := in.stepper.download(o.Name, in.moments[i][:], v); err != nil {
			return err
		}
	}
	return nil
}

// finish looks at the change of the weights.
func (in *inspector) finish() error {
	if err := in.stepper.launch(in.after); err != nil {
		return err
	}
	return in.stepper.download("inspect", in.host.boxed, in.results)
}

func (in *inspector) free() error {
	if in.memory == nil {
		return nil
	}
	return in.memory.Free()
}

// Inspect is [Stepper.Step] with a look at the streams and the matrices. It changes nothing of the step: loss, gradients and update have the
// same bits.
func (s *Stepper) Inspect(ctx context.Context, step int64, lr float64, micros []*batch.Batch) (Result, metrics.Inspect, error) {
	if s.inspector == nil {
		return Result{}, metrics.Inspect{}, errors.New("train: the step was not made to be inspected")
	}
	if err := s.inspector.open(); err != nil {
		return Result{}, metrics.Inspect{}, fmt.Errorf("inspection: %w", err)
	}
	r, err := s.step(ctx, step, lr, micros, s.inspector)
	if err != nil {
		return r, metrics.Inspect{}, err
	}
	return r, s.inspector.record(step), nil
}

// record puts the results into words.
func (in *inspector) record(step int64) metrics.Inspect {
	r := metrics.Inspect{Step: step, Micro: inspectedMicro}
	for i := 0; i < len(in.seen); i += 3 {
		r.Sublayers = append(r.Sublayers, sublayer(in.seen[i:], in.moments[i:]))
	}
	for i := range in.matrices() {
		p := in.stepper.weights.Table[i]
		change, weight := in.host.data[2*i*smallStride/4:], in.host.data[(2*i+1)*smallStride/4:]
		r.Matrices = append(r.Matrices, metrics.Matrix{Name: p.Name, Weight: rms(weight[0], p.Len()), Grad: rms(change[0], p.Len()),
			Update: rms(change[1], p.Len()), Ratio: ratio(change[1], weight[0])})
	}
	return r
}

// sublayer makes a record of the three observations of a fork.
func sublayer(seen []graph.Observation, moments [][4]float32) metrics.Sublayer {
	stream, out, gradient := moments[0], moments[1], moments[2]
	n := seen[0].X.Shape().TotalSize()
	s := metrics.Sublayer{Name: strings.TrimSuffix(seen[0].Name, "."+graph.AtStream),
		In: rms(stream[0], n), Branch: rms(stream[1], n), Ratio: ratio(stream[1], stream[0]), Cosine: cosine(stream),
		Out: rms(out[0], n), Max: short(float64(out[3])), Grad: rms(out[1], n),
		Straight: rms(gradient[0], n), Through: rms(gradient[1], n), GradCosine: cosine(gradient)}
	if seen[2].X == nil {
		s.Straight, s.GradCosine = 0, 0
	}
	if seen[2].Y == nil {
		s.Through, s.GradCosine = 0, 0
	}
	return s
}

// rms is the root mean square of n elements with a sum of squares.
func rms(squares float32, n int) metrics.Float {
	return short(math.Sqrt(float64(squares) / float64(n)))
}

// ratio is that of two sizes, 0 where there is nothing to relate to.
func ratio(squares, of float32) metrics.Float {
	if of == 0 {
		return 0
	}
	return short(math.Sqrt(float64(squares) / float64(of)))
}

// cosine is that of the angle between two tensors, 0 where one of them is zero.
func cosine(m [4]float32) metrics.Float {
	if m[0] == 0 || m[1] == 0 {
		return 0
	}
	return short(float64(m[2]) / math.Sqrt(float64(m[0])*float64(m[1])))
}

// short rounds to 6 digits, about what a float32 holds.
func short(x float64) metrics.Float {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		return metrics.Float(x)
	}
	return metrics.Float(y)
}
