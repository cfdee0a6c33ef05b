package token

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

const kindChar = "char"

func init() {
	Register(kindChar, Maker{New: trainChar, Trained: true, Unmarshal: unmarshalChar})
}

// charTokenizer has one id for each Unicode character of its training text, in the order of the code points. With unknown "unk" one
// more id, the last, stands for any other character and decodes to U+FFFD; with "fail" another character is an error. It has no
// separator.
//
// A byte that is not part of valid UTF-8 is no character and gets no id of its own: with "fail" it is an error, in training too; with
// "unk" each such byte is one unknown character, and training passes over it.
type charTokenizer struct {
	alphabet []rune         // id to character, ascending
	ids      map[rune]int32 // character to id
	ascii    [128]int32     // the same for ASCII, -1 where there is none
	unk      bool
}

type charFile struct {
	header
	Unknown  string `json:"unknown"`
	Alphabet []rune `json:"alphabet"`
}

func trainChar(cfg Config, texts Texts, progress Progress) (Tokenizer, error) {
	unknown := cfg.Unknown
	if unknown == "" {
		unknown = "fail"
	}
	if err := checkUnknown(unknown); err != nil {
		return nil, err
	}
	seen := map[rune]bool{}
	done, which := int64(0), 0
	for text, err := range texts {
		if err != nil {
			return nil, err
		}
		which++
		if at := collect(seen, text); at >= 0 && unknown == "fail" {
			return nil, fmt.Errorf("text %d: byte %d (0x%02x) is not valid UTF-8, and characters are all this kind knows: "+
				"mend the text, set data.invalid_utf8: replace, or use kind byte or bpe", which, at, text[at])
		}
		done += int64(len(text))
		if err := progress(done, 0); err != nil {
			return nil, err
		}
	}
	if len(seen) == 0 {
		return nil, errNoText
	}
	alphabet := make([]rune, 0, len(seen))
	for r := range seen {
		alphabet = append(alphabet, r)
	}
	slices.Sort(alphabet)
	return newChar(alphabet, unknown == "unk"), nil
}

var errNoText = errors.New("there is no text to train on: check data.train")

// collect adds the characters of text to seen and returns the position of the first invalid byte, or -1.
func collect(seen map[rune]bool, text []byte) (invalid int) {
	invalid = -1
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		switch {
		case r != utf8.RuneError || n > 1:
			if !seen[r] {
				seen[r] = true
			}
		case invalid < 0:
			invalid = at
		}
		at += n
	}
	return invalid
}

func checkUnknown(unknown string) error {
	if unknown != "fail" && unknown != "unk" {
		return fmt.Errorf("unknown is %q (allowed: fail, unk)", shorten(unknown))
	}
	return nil
}

func newChar(alphabet []rune, unk bool) *charTokenizer {
	t := &charTokenizer{alphabet: alphabet, ids: make(map[rune]int32, len(alphabet)), unk: unk}
	for i := range t.ascii {
		t.ascii[i] = -1
	}
	for id, r := range alphabet {
		t.ids[r] = int32(id)
		if r < utf8.RuneSelf {
			t.ascii[r] = int32(id)
		}
	}
	return t
}

func unmarshalChar(file []byte) (Tokenizer, error) {
	var f charFile
	if err := decodeStrict(file, &f); err != nil {
		return nil, err
	}
	if err := checkUnknown(f.Unknown); err != nil {
		return nil, err
	}
	if len(f.Alphabet) == 0 {
		return nil, errors.New("the alphabet is empty")
	}
	for i, r := range f.Alphabet {
		if !utf8.ValidRune(r) {
			return nil, fmt.Errorf("alphabet[%d] = %d is not a Unicode character", i, r)
		}
		if i > 0 && r <= f.Alphabet[i-1] {
			return nil, fmt.Errorf("alphabet[%d] = %d does not come after %d: characters ascend and occur once", i, r, f.Alphabet[i-1])
		}
	}
	return newChar(f.Alphabet, f.Unknown == "unk"), nil
}

func (t *charTokenizer) Kind() string     { return kindChar }
func (t *charTokenizer) Separator() int32 { return -1 }
func (t *charTokenizer) places() Places   { return everyPlace }

func (t *charTokenizer) Vocab() int {
	if t.unk {
		return len(t.alphabet) + 1
	}
	return len(t.alphabet)
}

func (t *charTokenizer) Encode(dst []int32, text []byte) ([]int32, error) {
	before := len(dst)
	for at := 0; at < len(text); {
		if b := text[at]; b < utf8.RuneSelf && t.ascii[b] >= 0 {
			dst = append(dst, t.ascii[b])
			at++
			continue
		}
		r, n := utf8.DecodeRune(text[at:])
		id, known := t.ids[r]
		if r == utf8.RuneError && n == 1 {
			known = false // an invalid byte, even where the alphabet holds a true U+FFFD
		}
		switch {
		case known:
		case t.unk:
			id = int32(len(t.alphabet))
		default:
			return dst[:before], t.errUnknown(text[at:at+n], at)
		}
		dst = append(dst, id)
		at += n
	}
	return dst, nil
}

func (t *charTokenizer) errUnknown(char []byte, at int) error {
	const remedy = "set data.tokenizer.unknown: unk, or use kind byte or bpe"
	unknown := &unknownError{kind: kindChar, at: at}
	if r, n := utf8.DecodeRune(char); r == utf8.RuneError && n == 1 {
		unknown.char = fmt.Sprintf("0x%02x", char[0])
		unknown.why = "is not valid UTF-8: mend the text, set data.invalid_utf8: replace, " + remedy
	} else {
		unknown.char = fmt.Sprintf("%#U", r)
		unknown.why = fmt.Sprintf("is not among the %d characters of the vocabulary: train the tokenizer on text that has it, %s", len(t.alphabet), remedy)
	}
	return unknown
}

func (t *charTokenizer) Decode(dst []byte, ids ...int32) ([]byte, error) {
	before := len(dst)
	for i, id := range ids {
		switch {
		case id >= 0 && int(id) < len(t.alphabet):
			dst = utf8.AppendRune(dst, t.alphabet[id])
		case t.unk && int(id) == len(t.alphabet):
			dst = utf8.AppendRune(dst, utf8.RuneError)
		default:
			return dst[:before], errNoSuchID(kindChar, id, i, t.Vocab())
		}
	}
	return dst, nil
}

func (t *charTokenizer) Marshal() ([]byte, error) {
	unknown := "fail"
	if t.unk {
		unknown = "unk"
	}
	return encodeFile(charFile{newHeader(kindChar), unknown, t.alphabet})
}
