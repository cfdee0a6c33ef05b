package dataset

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"prenorm/configs/problem/problemtest"
	"prenorm/data"
	"prenorm/data/shard"
)

// FuzzSources puts any bytes, as they are and with a right checksum, in the place of what an earlier run remembered of the texts. The data set is
// the same as ever: what was remembered is of no text that is there, or is true.
func FuzzSources(f *testing.F) {
	for _, s := range []string{"", "{}", `{"Taken":"2020-01-01T00:00:00Z","Files":[{"Path":"../x","Size":-1}],"Few":-5}`, `{"Few":9223372036854775807,"Files":null}`} {
		f.Add([]byte(s))
	}
	r := newRun(f)
	want := r.open(f)
	path := sourcesPath(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		var read record
		problemtest.Bounded(t, len(content), 100, func() {
			if err := shard.Unseal(content, &read); err == nil && len(content) < 65 {
				t.Errorf("%q has a checksum", content)
			}
		})
		for _, content := range [][]byte{content, shard.Seal(content)} {
			write(t, path, string(content))
			if r.open(t) != want {
				t.Errorf("%q gives another data set", content)
			}
		}
	})
}

// sourcesPath is the only file of what is remembered of texts.
func sourcesPath(t testing.TB) string {
	t.Helper()
	paths, err := filepath.Glob("run/sources-*.json")
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	return paths[0]
}

// TestForgedSources has a record with a right checksum that says nonsense of the same files, with shards of an earlier run and without, for texts
// that are divided by hash, or at their end because they are few, or not at all: the data set is the same as ever.
func TestForgedSources(t *testing.T) {
	for name, change := range map[string]func(*record){
		"few":       func(r *record) { r.Few = -7 },
		"none":      func(r *record) { r.Few = 0 },
		"many":      func(r *record) { r.Few = math.MaxInt },
		"train":     func(r *record) { r.Train.Bytes, r.Train.Documents = -1, -1 },
		"val":       func(r *record) { r.Val.Bytes = -1 },
		"documents": func(r *record) { r.Train.Fingerprint, r.Val.Fingerprint = r.Val.Fingerprint, r.Train.Fingerprint },
		"print":     func(r *record) { r.Train.Fingerprint[3]++ },
	} {
		for _, val := range []data.Val{{Files: []string{"val.txt"}}, {By: "auto", Fraction: 0.5}, {By: "auto", Fraction: 0.01}} {
			for _, shards := range []bool{true, false} {
				where := fmt.Sprintf("%s, %+v, shards %v", name, val, shards)
				r := newRun(t)
				r.cfg.Val = val
				want := r.open(t)
				path := sourcesPath(t)
				content, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				var forged record
				if err := shard.Unseal(content, &forged); err != nil {
					t.Fatal(err)
				}
				if few := val.Fraction == 0.01; (forged.Few == 2) != few {
					t.Fatalf("%s: few documents: %d", where, forged.Few)
				}
				change(&forged)
				write(t, path, string(seal(forged)))
				if !shards {
					for _, path := range glob(t, "run/*.tokens") {
						if err := os.Remove(path); err != nil {
							t.Fatal(err)
						}
					}
				}
				if r.open(t) != want {
					t.Errorf("%s: another data set", where)
				}
			}
		}
	}
}
