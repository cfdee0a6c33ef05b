package model

import (
	"slices"
	"testing"

	"prenorm/kernels"
)

// packing is documents of one sequence: their ids and each token's position in its own document.
func packing(lengths []int) (documents, positions []int32) {
	for id, n := range lengths {
		for i := range n {
			documents, positions = append(documents, int32(id)), append(positions, int32(i))
		}
	}
	return documents, positions
}

// TestDocumentsAlone wants documents that share a sequence to have the logits that each has alone, with positions from 0 in each.
func TestDocumentsAlone(t *testing.T) {
	lengths := []int{3, 1, 2, 1}
	documents, positions := packing(lengths)
	for name, c := range placed() {
		t.Run(name, func(t *testing.T) {
			tokens := []int32{4, 9, 2, 22, 9, 9, 0}
			packed := newForward(t, c, Options{B: 1, T: 7, DType: kernels.F64, Documents: true})
			packed.set(t, InDocuments, documents)
			packed.set(t, InPositions, positions)
			got := packed.logits(t, tokens)
			at := 0
			for id, n := range lengths {
				alone := newForward(t, c, Options{B: 1, T: n, DType: kernels.F64}).logits(t, tokens[at:at+n])
				for i := range alone {
					if e := difference(got[at+i], alone[i]); !(e < 1e-13) {
						t.Errorf("document %d, token %d: logits differ by %.2g of the largest", id, i, e)
					}
				}
				at += n
			}
		})
	}
}

// difference is the largest difference as a share of want's largest element.
func difference(got, want []float64) float64 {
	worst, largest := 0.0, 0.0
	for i := range want {
		worst, largest = max(worst, got[i]-want[i], want[i]-got[i]), max(largest, want[i], -want[i])
	}
	return worst / largest
}

// TestDocumentsAloneGradients wants the gradients of packed documents to be the sum of those of each alone, and so the loss.
func TestDocumentsAloneGradients(t *testing.T) {
	lengths := []int{3, 1, 2, 1}
	documents, positions := packing(lengths)
	for name, c := range placed() {
		t.Run(name, func(t *testing.T) {
			c.Dropout = 0 // its random numbers go by the place in the batch
			if c.Norm.Kind == "batchnorm" {
				t.Skip("in training batch norm mixes rows, see TestBatchNormLeaks")
			}
			packed := newRun(t, c, Options{B: 1, T: 7, DType: kernels.F64, Documents: true}, false)
			read := func(in string) []int32 {
				v, err := packed.program.View(in)
				if err != nil {
					t.Fatal(err)
				}
				return v.I32()
			}
			tokens, targets := read(InTokens), read(InTargets)
			copy(read(InDocuments), documents)
			copy(read(InPositions), positions)
			loss, sum := packed.step(t), 0.0
			total := make([][]float64, len(packed.net.Table()))
			at := 0
			for _, n := range lengths {
				alone := newRun(t, c, Options{B: 1, T: n, DType: kernels.F64}, false)
				for in, data := range map[string]any{InTokens: tokens[at : at+n], InTargets: targets[at : at+n], InNormaliser: []float64{6}} {
					if err := alone.program.Set(in, data); err != nil {
						t.Fatal(err)
					}
				}
				sum += alone.step(t)
				for i := range total {
					g := alone.grads.View(i).F64()
					total[i] = append(total[i], make([]float64, len(g)-len(total[i]))...)
					for k := range g {
						total[i][k] += g[k]
					}
				}
				at += n
			}
			if e := difference([]float64{loss}, []float64{sum}); !(e < 1e-13) {
				t.Errorf("loss %v, sum over documents %v", loss, sum)
			}
			for i, p := range packed.net.Table() {
				want := total[i]
				if slices.Max(want) < 1e-12 && slices.Min(want) > -1e-12 {
					continue // the bias of keys, which softmax does not see
				}
				if e := difference(packed.grads.View(i).F64(), want); !(e < 1e-12) {
					t.Errorf("gradient of %s differs by %.2g of the largest", p.Name, e)
				}
			}
		})
	}
}

// TestDocumentsSeparate is the test of the tests above: without document ids the documents do see each other.
func TestDocumentsSeparate(t *testing.T) {
	documents, positions := packing([]int{3, 4})
	c := variants()["base"]
	tokens := []int32{4, 9, 2, 22, 9, 9, 0}
	apart, together := newForward(t, c, Options{B: 1, T: 7, Documents: true}), newForward(t, c, Options{B: 1, T: 7})
	apart.set(t, InDocuments, documents)
	for _, f := range []*forward{apart, together} {
		f.set(t, InPositions, positions)
	}
	a, b := apart.logits(t, tokens), together.logits(t, tokens)
	for i := range a {
		if same := slices.Equal(a[i], b[i]); same != (i < 3) {
			t.Errorf("row %d: equal logits with and without documents: %v", i, same)
		}
	}
}
