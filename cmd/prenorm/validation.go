package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"prenorm/data/baseline"
	"prenorm/data/batch"
	"prenorm/data/corpus"
	"prenorm/data/dataset"
	"prenorm/data/regular"
	"prenorm/data/shard"
	"prenorm/data/token"
	"prenorm/train"
)

// validation opens the tokens of the run's own validation texts. It reads no text: training left the tokens in a folder, and the checkpoint
// names them by their fingerprints, so that they are those whose loss training printed.
func (t *trained) validation() (texts []evalText, err error) {
	var state train.State
	if err := json.Unmarshal(t.state, &state); err != nil {
		return nil, fmt.Errorf("checkpoint %s: state.json: %w", t.dir, err)
	}
	folders, err := t.tokenFolders()
	if err != nil {
		return nil, err
	}
	if len(state.Sources) == 0 {
		text, err := t.validationOf(folders, state.Data)
		if err != nil {
			return nil, err
		}
		return []evalText{*text}, nil
	}
	if have := len(t.run.Data.Sources); have != len(state.Sources) {
		return nil, fmt.Errorf("checkpoint %s: its run file has %d sources and its state %d", t.dir, have, len(state.Sources))
	}
	for i, s := range state.Sources {
		text, err := t.validationOf(folders, train.Fingerprints{Tokenizer: state.Data.Tokenizer, Train: s.Train, Val: s.Val})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("source %s: %w", s.Name, err), closeTexts(texts))
		}
		text.name, text.weight = s.Name, t.run.Data.Sources[i].Weight
		texts = append(texts, *text)
	}
	return texts, nil
}

// validationOf opens the tokens of one validation text.
func (t *trained) validationOf(folders []string, want train.Fingerprints) (*evalText, error) {
	var refused []error
	for _, dir := range folders {
		r, damaged := findShard(dir, want)
		if refused = append(refused, damaged...); r == nil {
			continue
		}
		text := &evalText{size: t.run.Train.Batch, weight: 1, close: []io.Closer{r}}
		var err error
		if text.split, err = splitOf(dir, r, t.tokenizer, want.Val); err == nil {
			err = text.find(r, t)
		}
		if err != nil {
			return nil, errors.Join(err, closeTexts([]evalText{*text}))
		}
		text.lines, _ = baseline.Kept(dir, want.Prints())
		return text, nil
	}
	message := fmt.Errorf("the tokens of the run's validation text are not there")
	for _, dir := range folders {
		message = fmt.Errorf("%w\n  %s holds no val-*.tokens of this checkpoint (fingerprint %.8s)", message, dir, want.Val)
	}
	for _, err := range refused {
		message = fmt.Errorf("%w\n  %w", message, err)
	}
	return nil, fmt.Errorf("%w\nPut the run's whole folder in its place, or name a text: %s eval %s TEXT", message, programName(), shellWord(t.dir))
}

// find sets the tokens, and where documents begin where the run asks for that.
func (e *evalText) find(r *shard.Reader, t *trained) error {
	e.text = batch.Text{Tokens: r, Separated: t.tokenizer.Separator() >= 0}
	if !t.run.Data.Starts() {
		return nil
	}
	starts, err := shard.OpenStarts(r)
	if err != nil {
		return fmt.Errorf("where the documents of the validation text begin: %w: go on with the run to have the file made anew, or name a text", err)
	}
	e.text.Starts = starts
	e.close = append(e.close, starts)
	return nil
}

// tokenFolders are where the run's tokens may be: data.cache, and the folder of the run that the checkpoint lies in.
func (t *trained) tokenFolders() ([]string, error) {
	dir, err := filepath.Abs(t.dir)
	if err != nil {
		return nil, err
	}
	var folders []string
	if t.run.Data.Cache != "" {
		folders = append(folders, t.run.Data.Cache)
	}
	return append(folders, filepath.Join(filepath.Dir(filepath.Dir(dir)), "data")), nil
}

// findShard opens the shard in the folder whose fingerprints are those wanted, nil for none. Shards that cannot be read are in damaged.
func findShard(dir string, want train.Fingerprints) (found *shard.Reader, damaged []error) {
	for _, path := range filesLike(dir, "val-*.tokens") {
		r, err := shard.Open(path)
		if err != nil {
			damaged = append(damaged, err)
			continue
		}
		m := r.Meta()
		if hex.EncodeToString(m.Tokenizer[:]) == want.Tokenizer && hex.EncodeToString(m.Source[:]) == want.Val {
			return r, nil
		}
		if err := r.Close(); err != nil {
			damaged = append(damaged, err)
		}
	}
	return nil, damaged
}

// filesLike are the files of a folder whose names match, sorted; none where the folder cannot be read.
func filesLike(dir, pattern string) []string {
	entries, _ := os.ReadDir(dir)
	var paths []string
	for _, e := range entries {
		if ok, _ := filepath.Match(pattern, e.Name()); ok {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// splitOf describes the text behind a shard: as training recorded it, or, where the text came from standard input and nothing was recorded,
// by decoding the tokens.
func splitOf(dir string, r *shard.Reader, t token.Tokenizer, fingerprint string) (dataset.Split, error) {
	split := dataset.Split{Tokens: r.Len(), Source: fingerprint}
	for _, path := range filesLike(dir, "sources-*.json") {
		if s, ok := recordedVal(path); ok && hex.EncodeToString(s.Fingerprint[:]) == fingerprint {
			split.Documents, split.Bytes = s.Documents, s.Bytes
			return split, nil
		}
	}
	var err error
	split.Documents, split.Bytes, err = decoded(r, t)
	return split, err
}

// recordedVal reads the summary of the validation text from a sources file of package dataset.
func recordedVal(path string) (corpus.Summary, bool) {
	content, err := regular.ReadFile(path)
	if err != nil {
		return corpus.Summary{}, false
	}
	var record struct{ Val corpus.Summary }
	err = shard.Unseal(content, &record)
	return record.Val, err == nil
}

// decoded counts documents and bytes of text. Decoding gives the text back byte by byte; only what kind char does not know, with unknown:
// unk, counts as the three bytes of U+FFFD. Where the tokenizer has no separator, the documents cannot be told apart and are 0.
func decoded(r *shard.Reader, t token.Tokenizer) (documents int, size int64, err error) {
	separator := t.Separator()
	if separator >= 0 {
		documents = 1
	}
	ids, text := make([]int32, 1<<14), []byte(nil)
	for at := int64(0); at < r.Len(); at += int64(len(ids)) {
		ids = ids[:min(int64(len(ids)), r.Len()-at)]
		if err := r.Read(ids, at); err != nil {
			return 0, 0, err
		}
		for start := 0; start < len(ids); {
			end := start
			for end < len(ids) && ids[end] != separator {
				end++
			}
			if text, err = t.Decode(text[:0], ids[start:end]...); err != nil {
				return 0, 0, err
			}
			size += int64(len(text))
			if start = end + 1; end < len(ids) {
				documents++
			}
		}
	}
	return documents, size, nil
}
