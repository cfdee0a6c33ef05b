package dataset

import (
	"os"
	"slices"

	"prenorm/data"
	"prenorm/data/corpus"
	"prenorm/data/token"
)

// Unwritten returns how many bytes of the text that cfg names have no shard of it and its tokenizer in the folder, as far as that shows without
// reading text or writing: a source whose files have changed since an earlier run, or whose tokenizer is not known, counts with the size of its
// files. What is wrong with the text is [Open]'s to tell. Only Dir and Tokenizer of the options are looked at.
func Unwritten(cfg data.Config, opt Options) (bytes int64) {
	opt = Options{Dir: opt.Dir, Tokenizer: opt.Tokenizer, Stop: func() error { return nil }}
	var all builders
	defer func() { all.close() }()
	known := true
	for _, own := range cfg.Each() {
		b := lookUp(own, opt)
		if b == nil {
			known = false
			continue
		}
		all = append(all, b)
	}
	var t token.Tokenizer
	var print [32]byte
	if known {
		t, print = all.knownTokenizer()
	}
	for i, own := range cfg.Each() {
		if t == nil || !all[i].recollect(t, print) {
			size, _ := corpus.Find(own)
			bytes += size
			continue
		}
		bytes += all[i].unwritten(t, print)
	}
	return bytes
}

// lookUp opens a source without reading it, with the summaries of an earlier run if there are such. It is nil where the text cannot be looked at:
// a part is not there, or is standard input.
func lookUp(cfg data.Config, opt Options) *builder {
	if slices.Contains(cfg.Train, "-") || slices.Contains(cfg.Val.Files, "-") {
		return nil
	}
	b, err := openBuilder("", cfg, opt)
	if err != nil {
		return nil
	}
	if b.imported == nil {
		b.recall()
	}
	return b
}

// knownTokenizer is the tokenizer that Open would not have to make, nil where there is none.
func (all builders) knownTokenizer() (token.Tokenizer, [32]byte) {
	t, err := all.namedTokenizer()
	if t == nil && err == nil && !slices.ContainsFunc(all, func(b *builder) bool { return !b.recalled }) {
		t = all[0].savedTokenizer(all.tokenizerPrefix())
	}
	if t == nil {
		return nil, [32]byte{}
	}
	print, err := fingerprint(t)
	if err != nil {
		return nil, [32]byte{}
	}
	return t, print
}

// recollect says whether the summaries are known of an earlier run, those of ids by their tokenizer.
func (b *builder) recollect(t token.Tokenizer, print [32]byte) bool {
	if b.imported == nil {
		return b.recalled
	}
	b.imported.tokenizer, b.imported.print = t, print
	return b.recall()
}

// unwritten is how many bytes of a text whose summaries are known have no shard.
func (b *builder) unwritten(t token.Tokenizer, print [32]byte) (bytes int64) {
	for _, side := range sides {
		path, _ := b.shardPath(side, t, print)
		if _, err := os.Stat(path); err != nil {
			bytes += b.sums[side].Bytes
		}
	}
	return bytes
}
