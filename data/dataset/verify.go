package dataset

import (
	"bytes"
	"errors"
	"os"

	"prenorm/data/corpus"
	"prenorm/data/shard"
	"prenorm/data/token"
)

// errLost is about text that does not come back from its ids.
var errLost = errors.New("the text does not come back from its ids (data.verify)")

// comesBack wants ids to decode to text. It returns what they do decode to, in the memory of back, and where that differs first.
func comesBack(t token.Tokenizer, ids []int32, text, back []byte) (decoded []byte, at int, err error) {
	if back, err = t.Decode(back[:0], ids...); err != nil || bytes.Equal(back, text) {
		return back, 0, err
	}
	for at < min(len(back), len(text)) && back[at] == text[at] {
		at++
	}
	return back, at, errLost
}

// verify proves, where that is asked for and was not done before, that the text of ids of an earlier run comes back from them: encoding gives
// the same ids again. Ids of other programs' token files are what they are: there is no text to come back.
func (b *builder) verify(path string, side corpus.Side, t token.Tokenizer) error {
	if _, err := os.Stat(path + proof); err == nil || !b.cfg.Verify || b.imported != nil {
		return nil
	}
	progress := func(done int64) { b.opt.Progress("verifying "+side.String()+" text", done, b.sums[side].Bytes) }
	if err := encode(t, b.documents(side), true, func([]int32) error { return b.opt.Stop() }, progress); err != nil {
		return err
	}
	return b.verified(path)
}

// proof is the end of the name of a file that says that the ids of the same name were verified.
const proof = ".verified"

func (b *builder) verified(path string) error { return shard.WriteFile(path+proof, []byte("ok\n")) }
