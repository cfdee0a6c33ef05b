package bench

import (
	"context"
	"testing"

	"prenorm/kernels"
	"prenorm/kernels/ref"
	"prenorm/model"
)

// moody is a backend whose memory changes its speed, in GB/s, from one probe to the next.
type moody struct {
	kernels.Backend
	reads []float64
}

func (b *moody) PeakFLOPs() float64 { return 1e9 }

func (b *moody) Bandwidth() (read, copied float64) {
	read, b.reads = b.reads[0]*1e9, b.reads[1:]
	return read, read
}

// TestSampleBesideReading: what decoding reads is held against the better probe around it, not against the one that the report began with, unless
// there is none.
func TestSampleBesideReading(t *testing.T) {
	c := model.Default()
	c.Layers, c.Width, c.Heads, c.FFN, c.Context, c.Vocab = 1, 32, 2, 32, 8, 40
	o := Options{Model: c, Seconds: 1e-3, Seed: 1}
	be := &moody{Backend: ref.New(), reads: []float64{3, 1, 1, 4, 0, 0}}
	r := &Report{Ceilings: Ceilings{Read: 100, Copy: 7, Peak: 1}}
	if err := r.MeasureSample(context.Background(), be, o); err != nil {
		t.Fatal(err)
	}
	if len(r.Sample) != 3 || len(be.reads) != 0 {
		t.Fatalf("%d kinds of weights, %d probes left", len(r.Sample), len(be.reads))
	}
	for i, want := range []float64{3, 4, r.Ceilings.Reading()} {
		if s := r.Sample[i]; s.Reading != want || s.Share != s.GBs/want {
			t.Errorf("%s: a share of %g of %g GB/s, want %g GB/s", s.Weights, s.Share, s.Reading, want)
		}
	}
}
