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
