package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"prenorm/kernels"
	"prenorm/model/exec"
	"prenorm/train/profile"
)

// The reference kernel is timed where its one launch takes a fraction of a second.
const (
	naiveFLOPs = 2e8
	naiveBytes = 64 << 20
)

// MeasureKernels times every call of the training step, each shape once. naive is the reference backend, nil to leave it out.
func (r *Report) MeasureKernels(ctx context.Context, be, naive kernels.Backend, o Options) error {
	t, err := newTrainer(be, o)
	if err != nil {
		return err
	}
	steps := t.stepper.Steps()
	if err := t.free(); err != nil {
		return err
	}
	rows := distinct(steps)
	for _, k := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if k.row.Seconds, err = measure(be, k.call, k.args, o.Seconds/float64(len(rows)), median); err != nil {
			return fmt.Errorf("%s: %w", k.row.Path, err)
		}
		k.rate(r.Ceilings.profile())
		if naive != nil && k.row.FLOPs <= naiveFLOPs && k.row.Bytes <= naiveBytes {
			if err := k.compare(naive); err != nil {
				return err
			}
		}
		r.Kernels = append(r.Kernels, k.row)
	}
	slices.SortStableFunc(r.Kernels, func(a, b Kernel) int { return strings.Compare(a.Kernel, b.Kernel) })
	return nil
}

// distinctCall is a call at one shape.
type distinctCall struct {
	call kernels.Call
	args kernels.Args
	row  Kernel
}

// distinct collects the calls of a step that differ in attributes or shapes, in the order of their first launch. Sites of dropout are alike.
func distinct(steps []exec.StepInfo) []*distinctCall {
	seen := map[string]*distinctCall{}
	var list []*distinctCall
	for _, s := range steps {
		c := s.Call
		if d, ok := c.(kernels.Dropout); ok {
			d.Site = 0
			c = d
		}
		key := fmt.Sprintf("%T %+v %v %v %v", c, c, s.Args.Out, s.Args.In, s.Args.Saved)
		k, ok := seen[key]
		if !ok {
			s.Args.Work = kernels.View{}
			k = &distinctCall{c, s.Args, Kernel{Kernel: profile.KernelName(c), Shape: shape(c, s.Args), Path: s.Path, FLOPs: s.FLOPs, Bytes: s.Bytes}}
			seen[key] = k
			list = append(list, k)
		}
		k.row.Launches++
	}
	return list
}

// shape writes a product as MxNxK with its types, and another call's inputs.
func shape(c kernels.Call, a kernels.Args) string {
	if m, ok := c.(kernels.MatMul); ok {
		rows, columns, inner := m.Dims(a.In)
		return fmt.Sprintf("%dx%dx%d %v<-%v", rows, columns, inner, a.Out[0].DType, a.In[0].DType)
	}
	words := make([]string, len(a.In))
	for i, v := range a.In {
		words[i] = strings.ReplaceAll(strings.Trim(fmt.Sprint(v.Shape), "[]"), " ", "x") + " " + v.DType.String()
		if len(v.Shape) == 0 {
			words[i] = "scalar " + v.DType.String()
		}
	}
	return strings.Join(slices.Compact(words), ", ")
}

func (k *distinctCall) rate(c profile.Ceilings) {
	w := &k.row
	w.GFLOPs, w.GBs = rate(w.FLOPs, w.Seconds), rate(w.Bytes, w.Seconds)
	w.Share = c.Roof(w.FLOPs, w.Bytes, exec.StepInfo{Args: k.args, Bytes: w.Bytes}.ReadOnly()) / w.Seconds
}

// compare runs the reference kernel once.
func (k *distinctCall) compare(naive kernels.Backend) (err error) {
	placed, arena, err := place(naive, k.call, k.args)
	if arena != nil {
		defer func() { err = errors.Join(err, arena.Free()) }()
	}
	if err != nil {
		return err
	}
	launch, err := naive.Bind(k.call, placed)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := launch(); err != nil {
		return err
	}
	k.row.Naive = time.Since(began).Seconds() / k.row.Seconds
	return nil
}
