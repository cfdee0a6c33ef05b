package token

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	fileFormat  = "prenorm-tokenizer"
	fileVersion = 1
	maxFile     = 64 << 20 // bytes, of another program's file too; kind bpe takes 19 MB with the most ids allowed
)

var errLarge = fmt.Errorf("larger than %d MiB, which no tokenizer is: is this the right file?", maxFile>>20)

// writable refuses a tokenizer whose own file would be too large to be read again, as a checkpoint's is.
func writable(t Tokenizer) error {
	file, err := t.Marshal()
	if err == nil && len(file) > maxFile {
		err = fmt.Errorf("a checkpoint would hold the tokenizer in %d MiB, more than the %d allowed: use one with fewer or shorter tokens", len(file)>>20, maxFile>>20)
	}
	return err
}

// header begins every tokenizer file; a kind's own file struct embeds it.
type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Kind    string `json:"kind"`
}

func newHeader(kind string) header { return header{fileFormat, fileVersion, kind} }

// readHeader returns the kind that file holds. It ignores whatever else the file says, so that a newer version is named as such and
// not as a list of unknown keys.
func readHeader(file []byte) (kind string, err error) {
	if len(file) > maxFile {
		return "", errLarge
	}
	var h header
	if err := json.Unmarshal(file, &h); err != nil {
		return "", fmt.Errorf("not a JSON object of tokenizer settings (%w): name one of prenorm's files, a tokenizer.json or a SentencePiece model", err)
	}
	if h.Format != fileFormat {
		return "", fmt.Errorf("format is %q, want %q: is this the right file?", shorten(h.Format), fileFormat)
	}
	if h.Version != fileVersion {
		return "", fmt.Errorf("version %d is not known (this program reads %d): read it with the program that wrote it", h.Version, fileVersion)
	}
	if _, known := makers[h.Kind]; !known {
		return "", unknownKind(h.Kind)
	}
	return h.Kind, nil
}

// decodeStrict decodes file into target, a pointer to the struct it was written from. Keys that are unknown, missing, repeated, out
// of order or in another case are all refused by one rule: what was read must write back to the same JSON.
func decodeStrict(file []byte, target any) error {
	d := json.NewDecoder(bytes.NewReader(file))
	d.DisallowUnknownFields()
	if err := d.Decode(target); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object")
	}
	again, err := json.Marshal(target)
	if err != nil {
		return err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, file); err != nil {
		return err
	}
	if !bytes.Equal(compact.Bytes(), again) {
		return errors.New("a key is missing, repeated, out of order or misspelt: the file was changed after it was written")
	}
	return nil
}

// encodeFile is the inverse of decodeStrict. File structs hold only numbers and plain ASCII names, so the bytes do not depend on how
// a release of encoding/json escapes strings.
func encodeFile(v any) ([]byte, error) {
	file, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(file, '\n'), nil
}
