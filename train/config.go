// Package train runs the training loop and assembles data, model and kernels for it.
package train

// Config is the section `train:` of a run file.
type Config struct {
	Steps      int       `yaml:"steps"`
	Batch      int       `yaml:"batch"`      // sequences of one forward and backward pass
	Accumulate int       `yaml:"accumulate"` // passes whose gradients are added before a step
	Optimizer  Optimizer `yaml:"optimizer"`
	Schedule   Schedule  `yaml:"schedule"`
	Clip       float64   `yaml:"clip"` // largest global gradient norm, 0 = no clipping
	Guard      Guard     `yaml:"guard"`
	Eval       Eval      `yaml:"eval"`
	Sample     Sample    `yaml:"sample"`
	Inspect    Every     `yaml:"inspect"`
	Log        Every     `yaml:"log"`
}

// Optimizer chooses an optimizer of train/optim's registry. Weight decay applies to matrices (two dimensions or more) only.
type Optimizer struct {
	Kind        string    `yaml:"kind"` // adamw | sgd
	LR          float64   `yaml:"lr"`
	Betas       []float64 `yaml:"betas"`        // adamw
	Eps         float64   `yaml:"eps"`          // adamw
	Momentum    float64   `yaml:"momentum"`     // sgd
	WeightDecay float64   `yaml:"weight_decay"` // decoupled
}

// Schedule chooses the learning rate's course, of train/schedule's registry.
type Schedule struct {
	Kind   string  `yaml:"kind"`   // constant | cosine | linear | wsd
	Warmup int     `yaml:"warmup"` // steps of linear rise from 0; -1 = a tenth of the steps, at most 100
	Min    float64 `yaml:"min"`    // the last rate as a share of lr
	Decay  float64 `yaml:"decay"`  // wsd: the share of steps, at the end, that the rate falls in
}

// Guard says what happens to a step whose loss or gradient is not finite, or a spike: a z-score above sigma within a window of steps, as in
// OLMo's and Levanter's step skipping, whose window and sigma are 128 and 6. Such a step is never applied.
type Guard struct {
	Policy  string  `yaml:"policy"`  // stop | skip | rewind
	Sigma   float64 `yaml:"sigma"`   // standard deviations above the window's mean that make a spike, 0 = none
	Window  int     `yaml:"window"`  // steps
	Limit   int     `yaml:"limit"`   // steps that may be skipped or rewound within a window
	Factor  float64 `yaml:"factor"`  // rewind: what the learning rate is multiplied by
	Every   int     `yaml:"every"`   // rewind: steps between copies of the state
	Bundles int     `yaml:"bundles"` // bundles that a run's folder may hold, 0 = none is written
}

// Policies of a guard.
const (
	GuardStop   = "stop"
	GuardSkip   = "skip"
	GuardRewind = "rewind"
)

// Every is an interval in steps, 0 = never.
type Every struct {
	Every int `yaml:"every"`
}

// Eval is the validation during training.
type Eval struct {
	Every   int `yaml:"every"`   // steps, 0 = at the end only
	Windows int `yaml:"windows"` // validation windows read, evenly spread; 0 = all
}

// Sample is the text sampled during training.
type Sample struct {
	Every       int     `yaml:"every"` // steps, 0 = at the end only
	Prompt      string  `yaml:"prompt"`
	Tokens      int     `yaml:"tokens"`
	Temperature float64 `yaml:"temperature"`
	TopK        int     `yaml:"top_k"`
}

// Checkpoint is the section `checkpoint:` of a run file.
type Checkpoint struct {
	Every      int     `yaml:"every"`      // steps, 0 = at the end only
	Minutes    float64 `yaml:"minutes"`    // at the latest after so many, 0 = by steps alone
	Keep       int     `yaml:"keep"`       // newest checkpoints kept, 0 = all
	KeepBest   int     `yaml:"keep_best"`  // checkpoints of the least validation losses kept
	KeepEvery  int     `yaml:"keep_every"` // checkpoints of steps that are a multiple of this are kept, 0 = none
	Background string  `yaml:"background"` // auto | always | never
}

// Words of checkpoint.background.
const (
	BackgroundAuto   = "auto"   // where the copy of the state takes at most half of the memory that is left
	BackgroundAlways = "always" // written from a copy of the state while training goes on
	BackgroundNever  = "never"  // training waits until it is written
)

// Default is what `train:` is decoded onto.
func Default() Config {
	return Config{
		Steps: 1000, Batch: 16, Accumulate: 1,
		Optimizer: Optimizer{Kind: "adamw", LR: 1e-3, Betas: []float64{0.9, 0.95}, Eps: 1e-8, WeightDecay: 0.1},
		Schedule:  Schedule{Kind: "cosine", Warmup: -1, Min: 0.1, Decay: 0.2},
		Clip:      1,
		Guard:     Guard{Policy: GuardStop, Window: 128, Limit: 4, Factor: 0.5, Every: 50, Bundles: 2},
		Eval:      Eval{Every: 250},
		Sample:    Sample{Every: 0, Tokens: 64, Temperature: 0.8, TopK: 50},
		Inspect:   Every{Every: 50},
		Log:       Every{Every: 10},
	}
}

// DefaultCheckpoint is what `checkpoint:` is decoded onto.
func DefaultCheckpoint() Checkpoint {
	return Checkpoint{Every: 250, Minutes: 15, Keep: 3, KeepBest: 1, Background: BackgroundAuto}
}

// Resolved fills in what is left to a rule.
func (c Config) Resolved() Config {
	if c.Schedule.Warmup < 0 {
		c.Schedule.Warmup = min(c.Steps/10, 100)
	}
	return c
}
