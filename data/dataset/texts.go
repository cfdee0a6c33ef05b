package dataset

import (
	"errors"
	"fmt"
	"io"

	"prenorm/data"
	"prenorm/data/corpus"
	"prenorm/data/shard"
)

// OpenTexts is [corpus.Texts] for those who read text alone: token files of other programs, which training reads, are refused by their names.
// The caller closes the corpus.
func OpenTexts(patterns []string, cfg data.Config, stdin io.Reader) (*corpus.Corpus, error) {
	c, err := corpus.Texts(patterns, cfg, stdin, "")
	if err != nil {
		return nil, err
	}
	for _, f := range c.Files(corpus.Train) {
		if shard.IsForeign(f.Path) {
			return nil, errors.Join(fmt.Errorf("%s holds token ids (.bin), and text is read here: name the text that they were made from; the loss on ids is that of a run which "+
				"names them itself (data.val.files)", f.Name), c.Close())
		}
	}
	return c, nil
}

// Proved says what data.verify of a configuration has shown of the dataset that was opened by it, "" where it was not asked for. Ids of other
// programs' token files have no text that could come back from them.
func (d *Dataset) Proved(cfg data.Config) string {
	if !cfg.Verify {
		return ""
	}
	var bytes int64
	for _, s := range d.Sources {
		if !s.Foreign {
			bytes += s.Stats.Train.Bytes + s.Stats.Val.Bytes
		}
	}
	if bytes == 0 {
		return "round trip not proved: token files of other programs have no text"
	}
	return fmt.Sprintf("round trip proved over %d bytes of text", bytes)
}
