package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prenorm/data/token"
	"prenorm/model/sample"
	"prenorm/train/metrics"
)

// writer writes samples.
type writer struct {
	*sampleFlags
	*trained
	group    *sample.Group
	sampler  *sample.Sampler
	prompt   string
	ids      []int32
	out      io.Writer
	terminal bool // somebody watches
}

// all writes every sample and then, apart from them, the speed.
func (w *writer) all(cmd *cobra.Command) error {
	began, tokens := time.Now(), 0
	for first := 0; first < w.count; first += w.group.Size() {
		n, err := w.some(cmd.Context(), first, min(w.group.Size(), w.count-first))
		tokens += n
		if err != nil {
			return err
		}
	}
	seconds := time.Since(began).Seconds()
	all := ""
	if w.count > 1 {
		all = fmt.Sprintf(" of %d texts together", w.count)
	}
	note(cmd.ErrOrStderr(), "%d tokens, %s tokens/s%s on %s", tokens, metrics.Count(float64(tokens)/max(seconds, 1e-9)), all, w.be.Name())
	return nil
}

// some writes samples first … first+count-1 side by side and returns how many tokens they took. The first is shown as it grows, the others when
// it is their turn.
func (w *writer) some(ctx context.Context, first, count int) (tokens int, err error) {
	texts := make([]*text, count)
	for i := range texts {
		texts[i] = w.begin(first + i)
	}
	turn := 0 // the text that is shown
	show := func() error {
		for ; turn < count; turn++ {
			t := texts[turn]
			if err := t.show(); err != nil || !t.ended {
				return err
			}
		}
		return nil
	}
	err = w.group.Generate(ctx, w.ids, w.tokens, w.sampler, first, count, func(i int, id int32) (bool, error) {
		t := texts[i-first]
		err := t.write(id)
		return t.ended, errors.Join(err, show())
	})
	if err != nil && texts[0].n == 0 {
		return 0, err // the prompt could not be read: nothing is shown
	}
	full := errors.Is(err, sample.ErrContextFull)
	for _, t := range texts {
		tokens += t.n
		switch {
		case full && !t.ended:
			t.end = "context"
			fallthrough
		case err == nil && !t.ended:
			t.rest()
		}
	}
	if full {
		err = nil
	}
	return tokens, errors.Join(err, show())
}

// sampleRecord is a sample as JSON.
type sampleRecord struct {
	Sample int    `json:"sample"`
	Prompt string `json:"prompt"`
	Text   string `json:"text"` // after the prompt
	Tokens int    `json:"tokens"`
	End    string `json:"end"` // tokens, stop, document or context
	Seed   int64  `json:"seed"`
	Step   int64  `json:"step"` // of the checkpoint
}

// text is one sample while it is written.
type text struct {
	*writer
	number int
	stream *token.Stream
	cut    *cutter
	whole  []byte
	shown  int  // bytes of whole
	begun  bool // what stands before the text is shown
	ended  bool
	n      int    // tokens
	end    string // why it ended
}

func (w *writer) begin(number int) *text {
	return &text{writer: w, number: number, stream: token.NewStream(w.tokenizer), cut: newCutter(w.stops), end: "tokens"}
}

// write takes the next token, which may end the text.
func (t *text) write(id int32) error {
	t.n++
	if id == t.tokenizer.Separator() {
		t.end = "document"
		t.rest()
		return nil
	}
	more, err := t.stream.Write(id)
	if err != nil {
		return err
	}
	t.add(more)
	return nil
}

// add takes more of the text, whole characters.
func (t *text) add(more []byte) {
	ready, stop := t.cut.write(more)
	t.whole = append(t.whole, ready...)
	if stop {
		t.end, t.ended = "stop", true
	}
}

// rest adds what was held back: the text has ended.
func (t *text) rest() {
	if t.add(t.stream.Flush()); !t.ended {
		t.whole = append(t.whole, t.cut.rest()...)
	}
	t.ended = true
}

// show writes what is new: characters as they come, or a line of JSON when the text has ended.
func (t *text) show() error {
	if t.asJSON {
		if !t.ended {
			return nil
		}
		e := json.NewEncoder(t.out)
		e.SetEscapeHTML(false)
		return e.Encode(sampleRecord{t.number, t.prompt, string(t.whole), t.n, t.end, t.options.Seed, t.step})
	}
	var b bytes.Buffer
	if !t.begun {
		t.begun = true
		if t.number > 0 {
			b.WriteString("---\n")
		}
		b.WriteString(t.heading())
	}
	more := slices.Clone(t.whole[t.shown:])
	t.shown = len(t.whole)
	if t.terminal {
		more = metrics.Visible(more)
	}
	b.Write(more)
	if t.ended && !strings.HasSuffix(t.prompt+string(t.whole), "\n") {
		b.WriteByte('\n')
	}
	_, err := b.WriteTo(t.out)
	return err
}

// heading is the prompt as shown: bold on a terminal, so that the model's part stands apart.
func (w *writer) heading() string {
	switch {
	case !w.terminal || w.prompt == "":
		return w.prompt
	case !wantsColour():
		return string(metrics.Visible([]byte(w.prompt)))
	}
	return "\x1b[1m" + string(metrics.Visible([]byte(w.prompt))) + "\x1b[0m"
}
