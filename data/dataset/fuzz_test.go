package dataset

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"prenorm/configs/problem/problemtest"
	"prenorm/data/shard"
)

// FuzzSources puts any bytes, as they are and with a right checksum, in the place of what an earlier run remembered of the texts. The data set is
// the same as ever: what was remembered is of no text that was there, or is true.
func FuzzSources(f *testing.F) {
	for _, s := range []string{"", "{}", `{"Taken":"2020-01-01T00:00:00Z","Files":[{"Path":"../x","Size":-1}],"Few":-5}`, `{"Few":9223372036854775807,"Files":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r record
		problemtest.Bounded(t, len(data), 100, func() {
			if err := shard.Unseal(data, &r); err == nil && len(data) < 65 {
				t.Errorf("%q has a checksum", data)
			}
		})
	})
}

// TestForgedSources has a record with a right checksum that says nonsense of the same files.
func TestForgedSources(t *testing.T) {
	r := newRun(t)
	want := r.open(t)
	paths, err := filepath.Glob("run/sources-*.json")
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	content, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	var forged record
	if err := shard.Unseal(content, &forged); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*record){
		"few":   func(r *record) { r.Few = -7 },
		"many":  func(r *record) { r.Few = math.MaxInt },
		"train": func(r *record) { r.Train.Bytes, r.Train.Documents = -1, -1 },
		"print": func(r *record) { r.Train.Fingerprint[3]++ },
	} {
		other := forged
		change(&other)
		if err := os.WriteFile(paths[0], seal(other), 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := Open(r.cfg, r.opt)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if have := ids(t, d.Train); name != "train" && len(have) == 0 {
			t.Errorf("%s: no tokens", name)
		}
		d.Close()
	}
	if err := os.Remove(paths[0]); err != nil {
		t.Fatal(err)
	}
	if r.open(t) != want {
		t.Error("another data set")
	}
}
