package train

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"prenorm/data/token"
	"prenorm/kernels"
	"prenorm/model"
	"prenorm/model/sample"
	"prenorm/train/checkpoint"
	"prenorm/train/metrics"
)

// MetricsFile is the name of the measurements in a run's folder.
const MetricsFile = "metrics.jsonl"

// openOutputs opens metrics and progress and says what is about to happen.
func (l *loop) openOutputs(ctx context.Context, resumed bool, refused []checkpoint.Refused) error {
	step := int64(-1)
	if resumed {
		step = l.state.Step
	}
	var recovered metrics.Recovered
	var err error
	if l.metrics, recovered, err = metrics.Open(filepath.Join(l.Dir, MetricsFile), step); err != nil {
		return err
	}
	for _, r := range refused {
		fmt.Fprintf(l.Out, "checkpoint refused: %s\n", r)
	}
	if resumed && step > 0 && recovered.Kept == 0 {
		fmt.Fprintf(l.Out, "warning: %s holds no record of the steps up to %d: was it removed? It begins there\n", filepath.Join(l.Dir, MetricsFile), step)
	}
	if err := l.openBest(); err != nil {
		return err
	}
	for _, text := range []string{recovered.String(), recovered.Missing} {
		if text != "" {
			fmt.Fprintln(l.Out, text)
		}
	}
	l.trained = time.Duration(float64(l.metrics.Seconds()) * float64(time.Second))
	if err := l.openLines(ctx); err != nil {
		return err
	}
	if err := l.recordLines(); err != nil {
		return err
	}
	l.introduce(resumed)
	if err := l.noteSources(resumed); err != nil {
		return err
	}
	l.noteProducts()
	if text := l.warnValidation(); text != "" {
		fmt.Fprintln(l.Out, text)
	}
	l.progress = metrics.NewProgress(l.Out, int64(l.Train.Steps), metrics.Options{Start: l.state.Step, Every: l.logEvery()})
	return nil
}

// logEvery is the interval of plain progress lines; 0 of train.log.every means none but the last.
func (l *loop) logEvery() int64 {
	if l.Train.Log.Every == 0 {
		return math.MaxInt64
	}
	return int64(l.Train.Log.Every)
}

// introduce prints what will be trained on what.
func (l *loop) introduce(resumed bool) {
	s := l.data.Stats
	fmt.Fprintf(l.Out, "text    %s training tokens (%s), %s validation tokens; %s tokenizer, %d ids\n", metrics.Count(float64(s.Train.Tokens)), metrics.Bytes(s.Train.Bytes),
		metrics.Count(float64(s.Val.Tokens)), l.data.Tokenizer.Kind(), l.data.Tokenizer.Vocab())
	if proved := l.data.Proved(l.Data); proved != "" {
		fmt.Fprintf(l.Out, "verify  %s\n", proved)
	}
	l.introduceLines()
	c := l.weights.Config
	perStep := int64(l.Train.Batch) * int64(c.Context) * int64(max(l.Train.Accumulate, 1))
	fmt.Fprintf(l.Out, "model   %s parameters, %s %s, %s activations\n", metrics.Count(float64(l.weights.Count())), c.Norm.Placement, c.Norm.Kind, metrics.Bytes(int64(l.stepper.ArenaBytes())))
	device := l.be.Name()
	if p := kernels.PrecisionOf(l.be); p != kernels.PrecisionFP32 {
		device += " in " + string(p)
	}
	products := l.products()
	if products != "" {
		products = " (matrix products: " + products + ")"
	}
	fmt.Fprintf(l.Out, "run     %s of %s tokens on %s into %s%s\n", inWords(l.Train.Steps, "step"), metrics.Count(float64(perStep)), device, l.Dir, products)
	if resumed {
		fmt.Fprintf(l.Out, "resumed from step %d of %d (%s)\n", l.state.Step, l.Train.Steps, l.newest)
	}
}

// products is who multiplies matrices, "" where there is one way to.
func (l *loop) products() string {
	if m, ok := l.be.(kernels.Multiplier); ok {
		return m.Multiplies()
	}
	return ""
}

// noteProducts keeps in the state who multiplies matrices from here on, and warns where that was someone else before.
func (l *loop) noteProducts() {
	before, now := l.state.Products, l.products()
	if before != "" && now != "" && before != now {
		fmt.Fprintf(l.Out, "warning: matrix products up to step %d were those of %s, from here on they are those of %s: sums differ in their last bits, so the run will not be what it "+
			"would have been uninterrupted (--set kernels.matmul=%s goes on as before)\n", l.state.Step, before, now, before)
	}
	l.state.Products = now
}

// report records and shows one update.
func (l *loop) report(step int64, lr float64, r Result) error {
	record := metrics.Train{Step: step, Tokens: l.state.Tokens, Loss: metrics.Float(r.Loss), LR: metrics.Float(lr),
		GradNorm: metrics.Float(r.GradNorm), Clip: metrics.Float(r.Clip)}
	now := time.Now()
	spent := now.Sub(l.lap)
	l.lap = now
	l.trained += spent
	l.speed.add(int64(targets(l.micros)), spent)
	record.Seconds = metrics.Float(l.trained.Seconds())
	record.TokensPerSecond = metrics.Float(l.speed.tokensPerSecond())
	l.progress.Step(record)
	if l.due(l.Train.Log.Every, step) {
		return l.metrics.Write(record)
	}
	return nil
}

// evaluate measures the loss over the validation text.
func (l *loop) evaluate(ctx context.Context, step int64) error {
	defer l.span("eval")()
	all, err := l.evaluateSources(ctx)
	if err != nil {
		return err
	}
	e := l.evalRecord(step, all)
	if err := l.metrics.Write(e); err != nil {
		return err
	}
	l.progress.Line(fmt.Sprintf("step %d/%d  validation loss %.4f  perplexity %.2f  bits per byte %.3f", step, l.Train.Steps, e.Loss, e.Perplexity, e.BitsPerByte))
	for _, s := range e.Sources {
		l.progress.Line(fmt.Sprintf("  source %s, weight %g: loss %.4f  bits per byte %.3f", s.Name, s.Weight, s.Loss, s.BitsPerByte))
	}
	if stand := l.lines.Stand(float64(e.Loss)); stand != "" {
		l.progress.Line(fmt.Sprintf("step %d/%d  the loss is %s", step, l.Train.Steps, stand))
	}
	return l.score(step, float64(e.Loss))
}

// sample writes a text from the model as it is. Its random numbers depend on the seed and the step alone.
func (l *loop) sample(ctx context.Context, step int64) error {
	defer l.span("sample")()
	text, err := l.sampleText(ctx, step)
	if err != nil {
		return err
	}
	if err := l.metrics.Write(metrics.Sample{Step: step, Text: text}); err != nil {
		return err
	}
	l.progress.Line(fmt.Sprintf("step %d/%d  sample:\n%s", step, l.Train.Steps, indent(string(metrics.Visible([]byte(text))))))
	return nil
}

func (l *loop) sampleText(ctx context.Context, step int64) (string, error) {
	var err error
	if l.generator == nil {
		if l.generator, err = sample.New(l.weights, sample.GeneratorOptions{Vocab: l.data.Tokenizer.Vocab()}); err != nil {
			return "", err
		}
	}
	o := l.Train.Sample
	sampler, err := sample.NewSampler(sample.Options{Temperature: o.Temperature, TopK: o.TopK, Seed: l.Seed})
	if err != nil {
		return "", err
	}
	prompt, err := PromptIDs(l.data.Tokenizer, o.Prompt)
	if err != nil {
		return "", fmt.Errorf("train.sample.prompt: %w", err)
	}
	var ids []int32
	if o.Prompt != "" { // what stands in for an empty one is not shown
		ids = append(ids, prompt...)
	}
	err = l.generator.Generate(ctx, prompt, o.Tokens, sampler, int(step), func(id int32) (bool, error) {
		if id == l.data.Tokenizer.Separator() { // the text's end, not a part of it
			return true, nil
		}
		ids = append(ids, id)
		return false, nil
	})
	if err != nil {
		return "", err
	}
	text, err := l.data.Tokenizer.Decode(nil, ids...)
	return strings.ToValidUTF8(string(text), "\uFFFD"), err
}

// PromptIDs encodes a prompt. An empty one becomes what a model can start a text from: the separator of documents, or else a line break, or
// else id 0.
func PromptIDs(t token.Tokenizer, prompt string) ([]int32, error) {
	if prompt != "" {
		return t.Encode(nil, []byte(prompt))
	}
	if s := t.Separator(); s >= 0 {
		return []int32{s}, nil
	}
	if ids, err := t.Encode(nil, []byte("\n")); err == nil && len(ids) > 0 {
		return ids, nil
	}
	return []int32{0}, nil
}

func indent(text string) string {
	return "  | " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  | ")
}

// Describe is one line on a model for people.
func Describe(c model.Config, parameters int64) string {
	return fmt.Sprintf("%s parameters: %s, width %d, %s, context %d, %s %s", metrics.Count(float64(parameters)), inWords(c.Layers, "layer"), c.Width, inWords(c.Heads, "head"), c.Context, c.Norm.Placement, c.Norm.Kind)
}

// inWords is a number of things in words: "1 layer", "8 layers".
func inWords(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
