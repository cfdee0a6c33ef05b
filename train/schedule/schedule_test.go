package schedule

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func open(t *testing.T, kind string, c Config) Schedule {
	t.Helper()
	s, err := New(kind, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestKinds(t *testing.T) {
	if want := []string{"constant", "cosine", "linear", "wsd"}; !slices.Equal(Kinds(), want) {
		t.Errorf("kinds %v, want %v", Kinds(), want)
	}
}

// TestFigures holds every kind against figures worked out by hand for W = 4, N = 12, min = 0.2 (so that t moves by eighths).
func TestFigures(t *testing.T) {
	root := math.Sqrt2 / 2
	for kind, want := range map[string]map[int64]float64{
		"constant": {5: 1, 8: 1, 12: 1, 13: 1},
		"linear":   {5: 0.9, 6: 0.8, 8: 0.6, 10: 0.4, 11: 0.3, 12: 0.2, 99: 0.2},
		"cosine":   {6: 0.6 + 0.4*root, 8: 0.6, 10: 0.6 - 0.4*root, 12: 0.2, 99: 0.2},
		"wsd":      {5: 1, 8: 1, 9: 1, 10: 0.2 + 0.8*2/3, 11: 0.2 + 0.8/3, 12: 0.2, 99: 0.2}, // 0.25 of 12 steps fall
	} {
		s := open(t, kind, Config{Warmup: 4, Steps: 12, Min: 0.2, Decay: 0.25})
		want[-1], want[0], want[1], want[2], want[3], want[4] = 0, 0, 0.25, 0.5, 0.75, 1
		for step, factor := range want {
			if got := s(step); math.Abs(got-factor) > 1e-15 {
				t.Errorf("%s(%d) = %v, want %v", kind, step, got, factor)
			}
		}
	}
}

// TestEveryKind holds for any member: it rises to exactly 1, never rises again, and ends at exactly min unless it is constant.
func TestEveryKind(t *testing.T) {
	for _, kind := range Kinds() {
		for _, c := range []Config{
			{Warmup: 0, Steps: 1, Min: 0.1, Decay: 1}, {Warmup: 1, Steps: 2, Min: 0.3, Decay: 0.2}, {Warmup: 100, Steps: 1000, Min: 0.1, Decay: 0.2},
			{Warmup: 7, Steps: 101, Min: 0, Decay: 0.3}, {Warmup: 0, Steps: 97, Min: 1.0 / 3, Decay: 1}, {Warmup: 5, Steps: 50, Min: 1, Decay: 0.5},
		} {
			s := open(t, kind, c)
			if got := s(int64(c.Warmup)); c.Warmup > 0 && got != 1 {
				t.Errorf("%s %+v: %v at the end of the warm-up, want 1", kind, c, got)
			}
			before := 0.0
			if c.Warmup == 0 {
				before = 1
			}
			for step := int64(1); step <= int64(c.Steps); step++ {
				now := s(step)
				if rising := step <= int64(c.Warmup); now < 0 || now > 1 || rising && now <= before || !rising && now > before {
					t.Errorf("%s %+v: from %v to %v at step %d", kind, c, before, now, step)
				}
				before = now
			}
			want := c.Min
			if kind == "constant" {
				want = 1
			}
			if got := s(int64(c.Steps)); got != want {
				t.Errorf("%s %+v: ends at %v, want %v", kind, c, got, want)
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	good := Config{Warmup: 10, Steps: 100, Min: 0.1, Decay: 0.2}
	for _, c := range []struct {
		kind   string
		change func(*Config)
		want   string
	}{
		{"cosinus", func(*Config) {}, "constant, cosine, linear, wsd"},
		{"cosine", func(c *Config) { c.Steps = 0 }, "steps is 0"},
		{"cosine", func(c *Config) { c.Warmup = -1 }, "warmup is -1"},
		{"constant", func(c *Config) { c.Warmup = 100 }, "such as 10"},
		{"linear", func(c *Config) { c.Min = 1.5 }, "min is 1.5"},
		{"linear", func(c *Config) { c.Min = math.NaN() }, "min is NaN"},
		{"wsd", func(c *Config) { c.Decay = 0 }, "decay is 0"},
		{"wsd", func(c *Config) { c.Decay = math.NaN() }, "decay is NaN"},
		{"wsd", func(c *Config) { c.Decay = 0.95 }, "decay over 95 steps and warmup over 10 do not fit"},
	} {
		config := good
		c.change(&config)
		if _, err := New(c.kind, config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: %v, want an error with %q", c.kind, config, err, c.want)
		}
	}
}
