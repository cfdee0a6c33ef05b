package baseline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"

	"prenorm/data/regular"
	"prenorm/data/shard"
)

// keepVersion is part of every name. It changes when the same tokens would give other lines.
const keepVersion = 1

// Prints identify what lines are of: the fingerprints of a tokenizer and of both texts.
type Prints struct{ Tokenizer, Train, Val string }

// path is the file of lines in a folder of shards.
func (p Prints) path(dir string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d", p.Tokenizer, p.Train, p.Val, keepVersion))
	return filepath.Join(dir, "lines-"+hex.EncodeToString(sum[:8])+".json")
}

// Kept returns the lines that were kept in a folder, and whether there are such; a damaged file is none.
func Kept(dir string, p Prints) (Lines, bool) {
	content, err := regular.ReadFile(p.path(dir))
	if err != nil {
		return Lines{}, false
	}
	var l Lines
	if shard.Unseal(content, &l) != nil {
		return Lines{}, false
	}
	return l, true
}

// Open returns the lines that were kept in a folder, or else measures them and keeps them there. kept is nil, or says why they could not be
// kept, so that they are measured again the next time.
func Open(dir string, p Prints, train, val Tokens, vocab int, stop Stop) (l Lines, kept, err error) {
	if l, ok := Kept(dir, p); ok {
		return l, nil, nil
	}
	if l, err = Measure(train, val, vocab, stop); err != nil {
		return l, nil, err
	}
	text, err := json.Marshal(l)
	if err != nil {
		return l, nil, err
	}
	return l, shard.WriteFile(p.path(dir), shard.Seal(text)), nil
}
