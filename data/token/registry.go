package token

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"prenorm/configs/problem"
	"prenorm/data/regular"
)

// Progress tells how far training has come. While texts are read, done is the number of bytes so far and total is 0 (the end is not
// known); afterwards done of total merges have been made. An error that it returns ends the training with that error. It may be nil.
type Progress = func(done, total int64) error

// Maker is how a kind of tokenizer is built.
type Maker struct {
	// New is nil for a kind that comes from files alone. It trains the tokenizer that cfg asks for, or builds it without reading texts where the kind needs no training. The slices
	// that texts yields may be reused by it from one text to the next. It returns the first error of texts.
	New func(cfg Config, texts Texts, progress Progress) (Tokenizer, error)
	// Unmarshal reads the kind's own file. Format, version and kind have been checked.
	Unmarshal func(file []byte) (Tokenizer, error)
	// Check adds what is wrong with the kind's own settings. It may be nil.
	Check func(cfg Config, l *problem.List)
	// Trained says that New learns from texts.
	Trained bool
	// KnownVocab is the vocabulary that the settings alone decide, 0 where the text does. It may be nil.
	KnownVocab func(cfg Config) int
}

var makers = map[string]Maker{}

// Register adds a kind under its name. It is called from init functions and panics when the name is taken.
func Register(kind string, maker Maker) {
	if _, taken := makers[kind]; taken {
		panic("token: kind " + kind + " is registered twice")
	}
	makers[kind] = maker
}

// Kinds returns the names of all registered kinds that can be trained or built, sorted. The others come from files.
func Kinds() []string {
	kinds := make([]string, 0, len(makers))
	for kind, maker := range makers {
		if maker.New != nil {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// New trains or builds the tokenizer that cfg asks for. When cfg.File is set, that file is loaded instead; it says itself what kind it
// is, so the other settings and texts are not looked at. Texts and progress may be nil where nothing is trained. The result depends
// on the multiset of texts only, not on their order.
func New(cfg Config, texts Texts, progress Progress) (Tokenizer, error) {
	if cfg.File != "" {
		return Load(cfg.File)
	}
	maker, known := makers[cfg.Kind]
	if !known || maker.New == nil {
		return nil, unknownKind(cfg.Kind)
	}
	if texts == nil {
		texts = func(func([]byte, error) bool) {}
	}
	if progress == nil {
		progress = func(int64, int64) error { return nil }
	}
	t, err := maker.New(cfg, texts, progress)
	if err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w", cfg.Kind, err)
	}
	return t, nil
}

// Open makes the tokenizer of a kind that needs no training, or reads a file (see [Load]). A kind goes before a file of its name.
func Open(name string) (Tokenizer, error) {
	maker, known := makers[name]
	switch {
	case !known || maker.New == nil:
		t, err := Load(name)
		if errors.Is(err, os.ErrNotExist) {
			near := problem.Closest(name, Ready())
			if near != "" {
				near = fmt.Sprintf(" (did you mean %s?)", near)
			}
			return nil, fmt.Errorf("tokenizer %q%s is neither a file nor a kind that needs no training (%s): %w", name, near, strings.Join(Ready(), ", "), err)
		}
		return t, err
	case maker.Trained:
		return nil, fmt.Errorf("tokenizer kind %s is trained on text: name the file of one, or a kind that needs no training (%s)", name, strings.Join(Ready(), ", "))
	}
	return New(Config{Kind: name}, nil, nil)
}

// Ready lists the kinds that need no training.
func Ready() []string {
	return slices.DeleteFunc(Kinds(), func(kind string) bool { return makers[kind].Trained })
}

// Unmarshal reads the file that [Tokenizer.Marshal] wrote. A file of another format, version or kind, a damaged or oversized one, and
// one with anything that Marshal would not have written is an error; white space between JSON tokens does not matter.
func Unmarshal(file []byte) (Tokenizer, error) {
	kind, err := readHeader(file)
	if err != nil {
		return nil, fmt.Errorf("tokenizer file: %w", err)
	}
	t, err := makers[kind].Unmarshal(file)
	if err != nil {
		return nil, fmt.Errorf("tokenizer file of kind %s: %w", kind, err)
	}
	return t, nil
}

// Load reads the tokenizer file at path: one of this program's, a tokenizer.json of Hugging Face's library tokenizers, a SentencePiece
// model, or the meta.pkl of nanoGPT's characters.
func Load(path string) (Tokenizer, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("tokenizer file: %s is a folder: name a file, such as the tokenizer.json in a checkpoint of a run", path)
	}
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer file: %w", err)
	}
	defer f.Close()
	// One byte more than allowed, so that an oversized file is seen and refused without all of it being read.
	file, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("tokenizer file: %w", err)
	}
	t, err := read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// read tells the formats apart.
func read(file []byte) (Tokenizer, error) {
	if len(file) > maxFile {
		return nil, errLarge
	}
	var foreign func([]byte) (Tokenizer, error)
	switch {
	case isHF(file):
		foreign = unmarshalHF
	case isSentencePiece(file):
		foreign = newSentencePiece
	case isPickle(file):
		foreign = unmarshalMeta
	default:
		return Unmarshal(file)
	}
	t, err := foreign(file)
	if err != nil {
		return nil, err
	}
	return t, writable(t)
}

// Fingerprint identifies a tokenizer: the SHA-256 of its Marshal, in hexadecimal. Equal fingerprints mean equal ids for every text,
// with one exception: kinds of byte pairs split text by Unicode classes, so a character that a Unicode version newly assigned can get
// other ids (of the same bytes) from a program built with another release of Go.
func Fingerprint(t Tokenizer) (string, error) {
	file, err := t.Marshal()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:]), nil
}

func unknownKind(kind string) error {
	kinds := Kinds()
	message := fmt.Sprintf("tokenizer kind %q is not known (allowed: %s)", shorten(kind), strings.Join(kinds, ", "))
	if nearest := problem.Closest(kind, kinds); nearest != "" {
		message += fmt.Sprintf("; did you mean %q?", nearest)
	}
	return errors.New(message)
}

// shorten keeps a name from a damaged file from filling the screen.
func shorten(name string) string {
	if len(name) > 40 {
		return name[:40] + "..."
	}
	return name
}
