package problem

import (
	"math"
	"testing"
)

func TestClosest(t *testing.T) {
	allowed := []string{"layers", "width", "heads", "kv_heads", "lr", "ffn", "placement"}
	for word, want := range map[string]string{
		"layer": "layers", "wdith": "width", "Heads": "heads", "KV-Heads": "kv_heads", "placemnts": "placement",
		"lt": "lr", "fn": "ffn", "x": "", "": "", "depth": "", "optimizer": "",
		"layersssssssssssssssssssssssssssssssssssssssssss": "",
	} {
		if got := Closest(word, allowed); got != want {
			t.Errorf("%q is near %q, want %q", word, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1", 0.1: "0.1", 1e-5: "1e-5", 2.5e-10: "2.5e-10", 10000: "10000", 1e6: "1000000", 1234567.5: "1.2345675e6", 1e20: "1e20", 1e-100: "1e-100",
		-3e-7: "-3e-7", math.Inf(1): "+Inf",
	} {
		if got := Number(x); got != want {
			t.Errorf("%g is written %s, want %s", x, got, want)
		}
	}
}

func TestInterval(t *testing.T) {
	for _, c := range []struct {
		interval Interval
		words    string
		in, out  []float64
	}{
		{Interval{0, 1, false, false}, "from 0 to 1", []float64{0, 0.5, 1}, []float64{-0.1, 1.1, math.NaN(), math.Inf(1)}},
		{Interval{0, 1, true, false}, "above 0, up to 1", []float64{1e-300, 1}, []float64{0, 2}},
		{Interval{0, 1, false, true}, "from 0 to below 1", []float64{0, 0.999}, []float64{1, -1}},
		{Interval{0, 1, true, true}, "above 0, below 1", []float64{0.5}, []float64{0, 1}},
	} {
		if c.interval.String() != c.words {
			t.Errorf("%+v is %q, want %q", c.interval, c.interval, c.words)
		}
		for _, x := range c.in {
			if !c.interval.Contains(x) {
				t.Errorf("%v lies outside %v", x, c.interval)
			}
		}
		for _, x := range c.out {
			if c.interval.Contains(x) {
				t.Errorf("%v lies in %v", x, c.interval)
			}
		}
	}
}

func TestList(t *testing.T) {
	var l List
	l.OneOf("kind", "a", "a", "b")
	l.Whole("n", 3, 1, 3)
	l.Within("x", 1, Interval{Low: 0, High: 1})
	if err := l.Err(); err != nil {
		t.Errorf("all is well and yet %v", err)
	}
	l.OneOf("kind", "consine", "cosine", "linear")
	l.OneOf("device", "gpu", "cpu", "cuda")
	l.Whole("n", 4, 1, 3)
	const want = "a.kind: \"consine\" is not known (did you mean cosine? allowed: cosine, linear)\n" +
		"a.device: \"gpu\" is not known (allowed: cpu, cuda)\n" +
		"a.n: 4 is out of range (1 to 3)"
	if err := l.Under("a").Err(); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
