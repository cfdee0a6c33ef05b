package train

import (
	"context"
	"fmt"
	"strings"

	"prenorm/configs/problem"
	"prenorm/data/corpus"
	"prenorm/data/dataset"
	"prenorm/data/token"
	"prenorm/train/checkpoint"
	"prenorm/train/safetensors"
)

// Refused is the error of a run that would fail sooner or later: all that was found wrong before its first step, by full key of the run file.
type Refused struct {
	Problems problem.List
	causes   []error
}

// Error writes one problem a line, more where a problem is a list.
func (r *Refused) Error() string { return r.Problems.Err().Error() }

// Unwrap returns the errors behind the problems.
func (r *Refused) Unwrap() []error { return r.causes }

// add adds what an error says of a key, unless it is nil.
func (r *Refused) add(key string, err error) {
	if err != nil {
		r.Problems.Addf(key, "%s", err)
		r.causes = append(r.causes, err)
	}
}

// addOf is add for what is wrong with a source: key is at fault where there is one text only, whose name is "".
func (r *Refused) addOf(source, key string, err error) {
	if source != "" && err != nil {
		key, err = "data.sources", fmt.Errorf("%s: %w", source, err)
	}
	r.add(key, err)
}

// err is nil where nothing is wrong.
func (r *Refused) err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	return r
}

// quickText is how many bytes of text are prepared before everything else that is wrong is told, so that it comes together with what only
// the tokens show: that much takes about a second.
const quickText = 16 << 20

// lookAhead looks for what keeps the run from its end and shows without reading its text. It opens what init_from names. The second value says
// whether the text can be prepared now, to look further.
func (l *loop) lookAhead(ctx context.Context, from *checkpoint.Loaded) (r *Refused, further bool, err error) {
	r, further = &Refused{}, true
	size, missing := corpus.Find(l.Data)
	for _, m := range missing {
		r.add(m.Key, m.Err)
		further = false
	}
	tokenizer, named, err := l.knownTokenizer(ctx, from, r)
	if err != nil {
		return nil, false, err
	}
	further = further && named
	if l.Room == nil || further && size <= quickText { // the second time, the tokens are known
		return r, further, nil
	}
	room := Room{Vocab: max(l.Model.Vocab, l.Data.Tokenizer.KnownVocab()), Held: tensorBytes(from)}
	if tokenizer != nil {
		room.Vocab = max(l.Model.Vocab, tokenizer.Vocab())
	}
	if from != nil {
		room.Step = from.Step
	} else {
		room.Text = dataset.Unwritten(l.Data, dataset.Options{Dir: l.ownCache(), Tokenizer: tokenizer})
	}
	r.Problems = append(r.Problems, l.Room(room)...)
	return r, len(r.Problems) == 0, nil
}

// knownTokenizer opens the tokenizer of the checkpoint, or what the run file names: that of init_from, which is opened, and that of a file.
// It is nil where the text decides. named says whether what is named is there.
func (l *loop) knownTokenizer(ctx context.Context, from *checkpoint.Loaded, r *Refused) (t token.Tokenizer, named bool, err error) {
	if from != nil {
		t, err = TokenizerOf(from)
		return t, err == nil, err
	}
	named = true
	if file := l.Data.Tokenizer.File; file != "" {
		if t, err = token.Load(file); err != nil {
			r.add("data.tokenizer.file", err)
			named = false
		}
	}
	if l.InitFrom == "" {
		return t, named, nil
	}
	if l.first, err = openStart(untilEnded(ctx), l.InitFrom); ended(ctx) != nil {
		return nil, false, ended(ctx)
	} else if err != nil {
		r.add("init_from", err)
		return t, named, nil
	}
	if l.Data.Tokenizer.File == "" {
		t = l.first.tokenizer
	}
	return t, named, nil
}

// tensorBytes is the memory of a checkpoint's tensors.
func tensorBytes(c *checkpoint.Loaded) (bytes int64) {
	if c == nil {
		return 0
	}
	for _, tensors := range [][]safetensors.Tensor{c.Weights, c.Optimizer} {
		for _, t := range tensors {
			bytes += int64(len(t.Data))
		}
	}
	return bytes
}

// lookAtTokens adds what keeps the run from its end and shows once the tokens are there.
func (l *loop) lookAtTokens(from *checkpoint.Loaded, r *Refused) {
	vocab, known := l.data.Tokenizer.Vocab(), len(r.Problems)
	if l.Model.Vocab == 0 {
		l.Model.Vocab = vocab
	}
	if l.Model.Vocab < vocab {
		r.add("model.vocab", fmt.Errorf("%d is smaller than the tokenizer's %d ids (0 takes the tokenizer's, or %d or more)", l.Model.Vocab, vocab, vocab))
	}
	_, err := PromptIDs(l.data.Tokenizer, l.Train.Sample.Prompt)
	r.add("train.sample.prompt", token.Advised(err, "use a prompt of characters of the text, or none (--set train.sample.prompt=)"))
	l.openLoaders(r)
	if from == nil && l.InitFrom != "" && l.first == nil && l.Data.Tokenizer.File == "" {
		for i := range r.Problems[known:] { // they may be gone with the one of init_from
			r.Problems[known+i].What += "; that is so with the tokenizer of data.tokenizer, and init_from, which cannot be read, may have another"
		}
	}
	r.add("init_from", l.checkStart(r))
	if l.Room != nil {
		room := Room{Vocab: l.Model.Vocab, Held: tensorBytes(from)}
		if from != nil {
			room.Step = from.Step
		}
		r.Problems = append(r.Problems, l.Room(room)...)
	}
}

// positions is the name of learned positions, of shape [context, width].
const positions = "embed_positions.weight"

// checkStart holds the weights of init_from against the model's table. Too few learned positions are a matter of model.context alone.
func (l *loop) checkStart(r *Refused) error {
	if l.first == nil || l.Model.Vocab < 2 {
		return nil
	}
	c := l.Model
	for _, t := range l.first.weights {
		if t.Name != positions || l.Model.Position.Kind != "learned" || len(t.Shape) != 2 || t.Shape[0] < 1 || t.Shape[0] >= l.Model.Context {
			continue
		}
		r.add("model.context", fmt.Errorf("%d is beyond the %d learned positions of the weights in init_from: set model.context to %d", l.Model.Context, t.Shape[0], t.Shape[0]))
		c.Context = t.Shape[0]
	}
	if err := fitModel(c, l.first.weights); err != nil {
		if l.Differs != nil && l.first.config != nil {
			for _, line := range l.Differs(l.first.config) {
				err = fmt.Errorf("%w\n  %s", err, line)
			}
		}
		return fmt.Errorf("%s: %w", l.InitFrom, err)
	}
	return nil
}

// dataError gives an error of the text, which begins with the key at fault where there is one, the form of a problem. Without a key, and without
// other problems, it stays as it is: what is in a file is the fault of no key.
func (r *Refused) dataError(err error) error {
	key, rest, found := strings.Cut(err.Error(), ": ")
	if !found || !strings.HasPrefix(key, "data.") {
		if len(r.Problems) == 0 {
			return err
		}
		r.add("data.train", err)
		return r
	}
	if source, several := strings.CutPrefix(key, "data.sources, "); several {
		key, rest = "data.sources", source+": "+rest
	}
	r.Problems.Addf(key, "%s", rest)
	r.causes = append(r.causes, err)
	return r
}
