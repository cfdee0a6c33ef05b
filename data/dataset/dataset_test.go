package dataset

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"prenorm/data"
	"prenorm/data/token"
)

func TestOpen(t *testing.T) {
	r := newRun(t)
	d, err := Open(r.cfg, r.opt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var want []int32
	for i, name := range []string{"text/a.txt", "text/b.txt"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			want = append(want, d.Tokenizer.Separator())
		}
		if want, err = d.Tokenizer.Encode(want, text); err != nil {
			t.Fatal(err)
		}
	}
	if got := ids(t, d.Train); !slices.Equal(got, want) || slices.Index(got, d.Tokenizer.Separator()) < 0 {
		t.Errorf("other tokens: %d, want %d", len(got), len(want))
	}
	text, err := d.Tokenizer.Decode(nil, ids(t, d.Val)...)
	if want, _ := os.ReadFile("val.txt"); err != nil || !bytes.Equal(text, want) {
		t.Errorf("the validation text comes back as %q, %v", text, err)
	}
	train, val := d.Stats.Train, d.Stats.Val
	if train.Documents != 2 || train.Bytes < 5000 || train.Tokens != d.Train.Len() || val.Documents != 1 || val.Bytes != int64(len(text)) || val.Tokens != d.Val.Len() {
		t.Errorf("statistics %+v", d.Stats)
	}
	if got := val.BytesPerToken(); math.Abs(got-float64(len(text))/float64(d.Val.Len())) > 1e-12 || got < 1 {
		t.Errorf("%v bytes per token", got)
	}
	if print, err := token.Fingerprint(d.Tokenizer); err != nil || d.Stats.Tokenizer != print || train.Source == val.Source || len(train.Source) != 64 {
		t.Errorf("fingerprints %+v", d.Stats)
	}
}

// TestTokenizerSeesOnlyTrainingText trains twice with other validation texts.
func TestTokenizerSeesOnlyTrainingText(t *testing.T) {
	r := newRun(t)
	r.open(t)
	before, _ := filepath.Glob("run/tokenizer-*")
	write(t, "val.txt", strings.Repeat("zyxwv", 1000))
	date(t, "val.txt", old.Add(time.Second))
	r.open(t)
	after, _ := filepath.Glob("run/tokenizer-*")
	if r.did() != "reading text, encoding validation text" || len(before) != 1 || !slices.Equal(before, after) {
		t.Errorf("did %s; tokenizers %v, then %v", r.did(), before, after)
	}
}

func TestReuse(t *testing.T) {
	r := newRun(t)
	want := r.open(t)
	if r.did() != everything {
		t.Fatalf("at first: %s", r.did())
	}
	check := func(what, did string, same bool) {
		t.Helper()
		if got := r.open(t); (got == want) != same {
			t.Errorf("%s: the same data set: %v, want %v", what, !same, same)
		}
		if r.did() != did || len(r.notes) > 0 {
			t.Errorf("%s: did %q, want %q; notes %v", what, r.did(), did, r.notes)
		}
	}
	check("nothing changed", "", true)
	date(t, "text/a.txt", old.Add(time.Second))
	check("touched", "reading text", true)
	check("touched, then nothing", "", true)
	date(t, "text/a.txt", time.Now().Add(time.Hour)) // so that a slow machine cannot make it old
	check("touched, dated later than now", "reading text", true)
	check("not older than the reading of it, so not trusted", "reading text", true)
	date(t, "text/a.txt", old)
	check("touched back", "reading text", true)

	text, _ := os.ReadFile("text/a.txt")
	text[100]++
	write(t, "text/a.txt", string(text))
	date(t, "text/a.txt", old.Add(2*time.Second))
	check("one byte changed", everything, false)
	text[100]--
	write(t, "text/a.txt", string(text))
	check("changed back", "reading text", true)

	write(t, "text/c.txt", "more")
	check("a file more", everything, false)
	if err := os.Remove("text/c.txt"); err != nil {
		t.Fatal(err)
	}
	check("the file removed", "", true)

	r.cfg.Tokenizer.Vocab = 290
	check("another vocabulary", "training tokenizer, "+encoding, false)
	r.cfg.Tokenizer.Kind = "byte"
	check("another tokenizer", encoding, false)
	r.cfg.Tokenizer = data.Default().Tokenizer
	r.cfg.Tokenizer.Vocab = 300
	check("the first again", "", true)

	r.cfg.Cache = "elsewhere"
	check("another folder", everything, true)
}

// TestFixedTokenizer opens with a tokenizer from elsewhere, as a resumed run does.
func TestFixedTokenizer(t *testing.T) {
	r := newRun(t)
	want := r.open(t)
	files, _ := filepath.Glob("run/tokenizer-*")
	fixed, err := token.Load(files[0])
	if err != nil {
		t.Fatal(err)
	}
	r.opt.Tokenizer = fixed
	r.cfg.Tokenizer.Kind = "no such kind" // is not looked at
	if got := r.open(t); got != want || r.did() != "" {
		t.Errorf("the same tokenizer as a fixed one: did %s", r.did())
	}
	r.opt.Tokenizer, r.cfg.Tokenizer.File = nil, files[0]
	if got := r.open(t); got != want || r.did() != "" {
		t.Errorf("the same tokenizer from a file: did %s", r.did())
	}
}

// TestDamagedCache damages every file of the folder in turn, in several ways.
func TestDamagedCache(t *testing.T) {
	r := newRun(t)
	want := r.open(t)
	entries, err := os.ReadDir("run")
	if err != nil || len(entries) != 4 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, entry := range entries {
		path := filepath.Join("run", entry.Name())
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad := [][]byte{nil, []byte("{}"), good[:len(good)/2], good[:len(good)-1], append(bytes.Clone(good), 'x')}
		for _, at := range []int{0, 1, len(good) / 3, len(good) / 2, len(good) - 2, len(good) - 1} {
			flipped := bytes.Clone(good)
			flipped[at] ^= 4
			bad = append(bad, flipped)
		}
		for i, content := range bad {
			if err := os.WriteFile(path, content, 0o666); err != nil {
				t.Fatal(err)
			}
			if got := r.open(t); got != want {
				t.Errorf("%s, damage %d: another data set", path, i)
			}
			if len(r.notes) != 1 || !strings.Contains(r.notes[0], entry.Name()) {
				t.Errorf("%s, damage %d: notes %q", path, i, r.notes)
			}
			if now, err := os.ReadFile(path); err != nil || !strings.HasPrefix(entry.Name(), "sources-") && !bytes.Equal(now, good) {
				t.Errorf("%s, damage %d: it is not as before, %v", path, i, err)
			}
			if r.open(t); r.did() != "" {
				t.Errorf("%s, damage %d: after the repair did %s", path, i, r.did())
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if got := r.open(t); got != want || len(r.notes) > 0 {
			t.Errorf("%s removed: the same data set: %v, notes %q", path, got == want, r.notes)
		}
	}
}

// TestChangedBehindItsTime changes a text but neither its size nor its time, then removes what was made from it.
func TestChangedBehindItsTime(t *testing.T) {
	r := newRun(t)
	r.open(t)
	text, _ := os.ReadFile("text/b.txt")
	copy(text[500:], "changed")
	write(t, "text/b.txt", string(text))
	for _, pattern := range []string{"run/train-*", "run/tokenizer-*"} {
		files, _ := filepath.Glob(pattern)
		if err := os.Remove(files[0]); err != nil {
			t.Fatal(err)
		}
	}
	got := r.open(t)
	if files, _ := filepath.Glob("run/tokenizer-*"); len(files) != 1 {
		t.Errorf("a tokenizer of one text is kept under the name of another: %v", files)
	}
	r.cfg.Cache = "fresh"
	if want := r.open(t); got != want {
		t.Error("the data set is not that of the text as it is")
	}
}

func TestConcurrentOpen(t *testing.T) {
	r := newRun(t)
	r.opt.Progress, r.opt.Log = nil, func(note string) { t.Errorf("note: %s", note) }
	want := r.open(t)
	if err := os.RemoveAll("run"); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			d, err := Open(r.cfg, r.opt)
			if err != nil {
				t.Error(err)
				return
			}
			defer d.Close()
			if d.Train.Len() != d.Stats.Train.Tokens {
				t.Errorf("%d tokens of %+v", d.Train.Len(), d.Stats)
			}
		})
	}
	group.Wait()
	if files, _ := os.ReadDir("run"); len(files) != 4 {
		t.Errorf("%d files are left", len(files))
	}
	r.opt.Progress = func(stage string, _, _ int64) { t.Errorf("after that: %s", stage) }
	if got := r.open(t); got != want {
		t.Error("another data set")
	}
}

func TestStandardInput(t *testing.T) {
	r := newRun(t)
	r.cfg.Train, r.cfg.Val = []string{"-"}, data.Val{Fraction: 0.2, By: "auto"}
	open := func(text string) string {
		r.opt.Stdin = strings.NewReader(text)
		return r.open(t)
	}
	first := open(words(4000))
	if r.did() != everything {
		t.Errorf("at first: %s", r.did())
	}
	if again := open(words(4000)); again != first || r.did() != "reading text" {
		t.Errorf("again: %s", r.did())
	}
	if other := open(words(4001)); other == first || r.did() != everything {
		t.Errorf("another text: %s", r.did())
	}
}

// TestFewDocuments divides texts of which none hashes to the validation side: at the end, with a note, read anew or remembered.
func TestFewDocuments(t *testing.T) {
	r := newRun(t)
	r.cfg.Val = data.Val{Fraction: 0.01, By: "auto"}
	want := r.open(t)
	check := func(what, did string) {
		t.Helper()
		if len(r.notes) != 1 || !strings.HasPrefix(r.notes[0], "2 documents cannot be divided by hash at fraction 0.01") {
			t.Errorf("%s: notes %q", what, r.notes)
		}
		if r.did() != did {
			t.Errorf("%s: did %q, want %q", what, r.did(), did)
		}
	}
	check("at first", everything)
	if got := r.open(t); got != want {
		t.Error("remembered: another data set")
	}
	check("remembered", "")
	for _, pattern := range []string{"run/train-*", "run/val-*"} {
		files, _ := filepath.Glob(pattern)
		if len(files) != 1 {
			t.Fatalf("%s: %v", pattern, files)
		}
		if err := os.Remove(files[0]); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.open(t); got != want {
		t.Error("encoded again from a remembered division: another data set")
	}
	check("encoded again", encoding)
	r.cfg.Val.By = "end"
	if got := r.open(t); got != want || len(r.notes) > 0 {
		t.Errorf("told to cut at the end: the same data set: %v, notes %q", got == want, r.notes)
	}
	r.cfg.Val.By = "hash"
	if _, err := Open(r.cfg, r.opt); err == nil || !strings.Contains(err.Error(), "data.val.by=end") {
		t.Errorf("told to divide by hash: %v", err)
	}
}

// smaller is the note on a vocabulary that a text is too short for; it names one that is not.
var smaller = regexp.MustCompile(`^the text yields ([0-9]+) of the 30000 token ids asked for, and the run has those: set data.tokenizer.vocab to [0-9]+, or give more text$`)

// TestSmallerVocabulary asks for more ids than the text has repeated pairs for.
func TestSmallerVocabulary(t *testing.T) {
	r := newRun(t)
	r.cfg.Tokenizer.Vocab = 30000
	for range 2 { // trained, then found
		r.open(t)
		if len(r.notes) != 1 || !smaller.MatchString(r.notes[0]) {
			t.Errorf("notes %q", r.notes)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	r := newRun(t)
	write(t, "tiny.txt", "x")
	for _, test := range []struct {
		change func(*data.Config, *Options)
		want   []string
	}{
		{func(c *data.Config, _ *Options) { c.Val.Files = []string{"tiny.txt"} }, []string{"too short (tokens: 1, bytes: 1)", "at least 2 tokens", "data.val"}},
		{func(c *data.Config, _ *Options) { c.Train = []string{"none.txt"} }, []string{"none.txt", "--set data.train=PATH"}},
		{func(c *data.Config, _ *Options) { c.Tokenizer.Kind = "bep" }, []string{"bep"}},
		{func(c *data.Config, _ *Options) { c.Tokenizer.File = "none.json" }, []string{"none.json"}},
		{func(c *data.Config, _ *Options) { c.Cache = "val.txt/below" }, []string{"data.cache"}},
		{func(_ *data.Config, o *Options) { o.Dir = "" }, []string{"data.cache"}},
		{func(c *data.Config, _ *Options) {
			c.Tokenizer.Kind = "char"
			write(t, "odd.txt", "the norm ☃ x")
			c.Val.Files = []string{"odd.txt"}
		}, []string{"odd.txt: ", "☃", "9"}},
	} {
		cfg, opt := r.cfg, r.opt
		test.change(&cfg, &opt)
		_, err := Open(cfg, opt)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want it to say %q", err, want)
			}
		}
	}
}
