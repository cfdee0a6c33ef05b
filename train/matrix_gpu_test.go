//go:build gpu

package train

import (
	"fmt"
	"os"
	"testing"

	"prenorm/kernels"
)

// gpuMatrix is every way of saving with every policy of the guard, with and without dropout and accumulation, some of the batches being bad.
func gpuMatrix() (all []option) {
	for _, background := range []string{BackgroundAlways, BackgroundNever} {
		for _, policy := range []string{"", GuardSkip, GuardRewind} {
			for _, dropout := range []float64{0, 0.1} {
				for _, accumulate := range []int{1, 3} {
					all = append(all, option{fmt.Sprintf("background=%s/policy=%s/dropout=%g/accumulate=%d", background, policy, dropout, accumulate), func(j *Job) {
						j.Checkpoint.Background, j.Model.Dropout, j.Train.Accumulate = background, dropout, accumulate
						if policy != "" {
							j.Train.Guard = Guard{Policy: policy, Window: 6, Limit: 7, Factor: 0.5, Every: 2, Bundles: 7}
						}
					}})
				}
			}
		}
	}
	return all
}

// TestResumeMatrixOnGPU resumes runs of the matrix on the GPU, in each precision, with another context than before. PRENORM_SLOW=1 takes every
// option, else one of so many.
func TestResumeMatrixOnGPU(t *testing.T) {
	every := 11 // meets every word of every setting: no number of words is a multiple
	if os.Getenv("PRENORM_SLOW") != "" {
		every = 1
	}
	all, at, held := gpuMatrix(), 0, 0
	for _, precision := range kernels.Precisions() {
		o := kernels.Options{Precision: precision, MatMul: "own"}
		if precision == kernels.PrecisionTF32 {
			o.MatMul = "auto"
		}
		well, bad := func(int) kernels.Backend { return openGPU(t, o) }, gpuFaults(t, o)
		opened := map[bool][2]kernels.Backend{false: {well(1), well(1)}, true: {bad(1), bad(1)}}
		for _, option := range all {
			if at++; (at-1)%every != 0 {
				continue
			}
			j := Job{}
			option.change(&j)
			be := opened[j.Train.Guard.Policy != ""]
			option.name = string(precision) + "/" + option.name
			checkResumed(t, option, be[0], [2]kernels.Backend{be[1], be[0]})
			held++
		}
		for _, list := range opened {
			for _, be := range list {
				if err := be.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if !t.Failed() {
		t.Logf("%d of %d options are the same after two stops", held, at)
	}
}

// TestSecondSaveOnGPU: what a save in the background writes is the state of its own step, whatever the device has done since.
func TestSecondSaveOnGPU(t *testing.T) {
	be := openGPU(t, kernels.Options{MatMul: "own"})
	defer be.Close()
	checkSecondSave(t, be)
}
