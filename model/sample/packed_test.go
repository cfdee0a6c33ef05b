package sample

import (
	"errors"
	"strings"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model"
)

// packable are the variants with rows of whole runs; where heads have a size of their own, the rows of o_proj are none, and it stays as it is.
func packable() map[string]model.Config {
	all := variants()
	delete(all, "batchnorm") // without statistics of its own values grow beyond float32 at this width
	for name, c := range all {
		c.Width, c.FFN = 64, 96
		if c.HeadDim == 0 {
			c.Heads, c.KVHeads = 2, min(c.KVHeads, 2)
		}
		all[name] = c
	}
	return all
}

// TestPackedEqualsForward: prefill and decoding with packed matrices are the forward with the float32 ones, which are rounded to what was packed, where
// the cache is float32. What a narrower one does, TestNarrowCaches says.
func TestPackedEqualsForward(t *testing.T) {
	for _, be := range []kernels.Backend{wideCaches{ref.New(), false}, wideCaches{onCPU(t), false}} {
		for _, packing := range model.Packings[1:] {
			for name, c := range packable() {
				t.Run(be.Name()+"/"+packing+"/"+name, func(t *testing.T) {
					w := newWeightsOn(t, be, c)
					exact := allLogits(t, w, text(4, c.Vocab))[3]
					if err := w.PackAs(packing); err != nil {
						t.Fatal(err)
					}
					for i, rounded := range allLogits(t, w, text(4, c.Vocab))[3] {
						if rounded != exact[i] {
							cacheEqualsForward(t, w)
							return
						}
					}
					t.Error("the weights are not rounded")
				})
			}
		}
	}
}

// TestPackedReadsLess wants decoding to read all matrices of a block and the head packed, and the rest as it was.
func TestPackedReadsLess(t *testing.T) {
	for _, packing := range model.Packings[1:] {
		w := newWeightsOn(t, ref.New(), packable()["heads"])
		if err := w.PackAs(packing); err != nil {
			t.Fatal(err)
		}
		net, err := model.Build(w.Config, model.Options{Mode: model.Cached, B: 1, T: 1})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := net.PlanFor(w)
		if err != nil {
			t.Fatal(err)
		}
		n := map[string]int{}
		for _, s := range plan.Steps() {
			n[s.Kernel]++
		}
		if l := w.Config.Layers; n["matmul"] != l || n["packed_matmul"] != 6*l+1 {
			t.Errorf("%s: %d products with float32 matrices (o_proj), %d with packed ones, of %d blocks", packing, n["matmul"], n["packed_matmul"], l)
		}
	}
}

func TestPackRefuses(t *testing.T) {
	w := newWeightsOn(t, ref.New(), variants()["base"])
	var cannot *model.CannotPack
	if err := w.PackAs("int8"); !errors.As(err, &cannot) || !strings.Contains(err.Error(), "multiple of 32") {
		t.Errorf("rows of 12 and 20 give the error %v", err)
	}
	if err := w.PackAs("int4"); err == nil || !strings.Contains(err.Error(), `no packing "int4" (have [fp32 bf16 int8])`) {
		t.Errorf("an unknown packing gives the error %v", err)
	}
	w = newWeightsOn(t, ref.New(), packable()["base"])
	if err := errors.Join(w.PackAs(""), w.PackAs("fp32"), w.PackAs("bf16")); err != nil {
		t.Error(err)
	}
	if err := w.PackAs("int8"); err == nil || !strings.Contains(err.Error(), "packed as bf16 already") {
		t.Errorf("packing twice gives the error %v", err)
	}
}
