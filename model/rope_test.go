package model

import (
	"math"
	"testing"
)

// near compares to a relative 1e-12.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*math.Abs(want)) {
		t.Errorf("%s: %.15g, want %.15g", what, got, want)
	}
}

// TestRopeTable holds rows of the table against cosine and sine of position times theta^(-2j/dim).
func TestRopeTable(t *testing.T) {
	table := RopeTable(Scaling{Kind: "none", Factor: 1}, 10000, 4, 6)
	if len(table) != 24 {
		t.Fatalf("%d elements", len(table))
	}
	for p := range 6 {
		row := table[p*4 : p*4+4]
		for j, f := range []float64{1, 0.01} {
			near(t, "cosine", row[j], math.Cos(float64(p)*f))
			near(t, "sine", row[2+j], math.Sin(float64(p)*f))
		}
	}
}

// TestLinearScaling wants position p of a table scaled by 4 to be position p/4 of the plain one.
func TestLinearScaling(t *testing.T) {
	plain, scaled := RopeTable(Scaling{Kind: "none", Factor: 1}, 10000, 8, 5), RopeTable(Scaling{Kind: "linear", Factor: 4}, 10000, 8, 17)
	for p := range 5 {
		for j := range 8 {
			if got, want := scaled[4*p*8+j], plain[p*8+j]; math.Abs(got-want) > 1e-15 {
				t.Errorf("position %d column %d: %v, want %v", 4*p, j, got, want)
			}
		}
	}
}

// TestScaledFrequencies holds the frequencies against figures computed apart from the formulas of the papers, at the settings of published
// models: Llama 3.1 (factor 8, original context 8192) and YaRN at factor 16 on 4096.
func TestScaledFrequencies(t *testing.T) {
	for name, c := range map[string]struct {
		scaling    Scaling
		theta      float64
		dim        int
		magnitude  float64
		want       map[int]float64 // frequency of a pair
		wantShares map[int]float64 // frequency of a pair as a share of the plain one
	}{
		"ntk": {Scaling{Kind: "ntk", Factor: 8}, 10000, 64, 1,
			map[int]float64{0: 1, 1: 0.7012422344790011, 16: 0.003418920788815981}, map[int]float64{31: 1. / 8}},
		"linear": {Scaling{Kind: "linear", Factor: 4}, 10000, 64, 1, map[int]float64{0: 0.25}, map[int]float64{0: 0.25, 9: 0.25, 31: 0.25}},
		"llama3": {Scaling{Kind: "llama3", Factor: 8, Original: 8192, LowFreq: 1, HighFreq: 4}, 500000, 128, 1,
			map[int]float64{0: 1, 1: 0.8146172338565447, 29: 0.002166570763503359, 34: 0.00017850781276799638, 63: 3.068925988914511e-07},
			map[int]float64{28: 1, 30: 0.6437431331275951, 32: 0.3711222795178447, 35: 0.125, 63: 0.125}},
		"yarn": {Scaling{Kind: "yarn", Factor: 16, Original: 4096, LowFreq: 1, HighFreq: 32}, 10000, 128, 1.2772588722239782,
			map[int]float64{0: 1, 21: 0.046940859997959404, 33: 0.004600435467850348, 63: 7.217387404309114e-06},
			map[int]float64{20: 1, 30: 0.639423076923077, 45: 0.09855769230769229, 46: 1. / 16, 63: 1. / 16}},
	} {
		t.Run(name, func(t *testing.T) {
			f, magnitude := frequencies(c.scaling, c.theta, c.dim)
			near(t, "magnitude", magnitude, c.magnitude)
			for j, want := range c.want {
				near(t, "frequency", f[j], want)
			}
			for j, share := range c.wantShares {
				near(t, "share", f[j]*math.Pow(c.theta, 2*float64(j)/float64(c.dim)), share)
			}
			table := RopeTable(c.scaling, c.theta, c.dim, 3)
			near(t, "cosine", table[2*c.dim+1], magnitude*math.Cos(2*f[1]))
			near(t, "sine", table[2*c.dim+c.dim/2+1], magnitude*math.Sin(2*f[1]))
		})
	}
}

// TestScalingOfOne wants a factor of 1 to change nothing, whatever the kind.
func TestScalingOfOne(t *testing.T) {
	plain, _ := frequencies(Scaling{Kind: "none", Factor: 1}, 10000, 16)
	for _, kind := range scalingKinds {
		f, magnitude := frequencies(Scaling{Kind: kind, Factor: 1, Original: 64, LowFreq: 1, HighFreq: 4}, 10000, 16)
		near(t, kind, magnitude, 1)
		for j := range f {
			near(t, kind, f[j], plain[j])
		}
	}
}
