package metrics

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"prenorm/configs/problem/problemtest"
)

// FuzzMetrics opens any bytes as a run's measurements. They are refused with the file's name and left as they were, or go on whole: what was
// kept is the file's beginning, and another record can be read behind it.
func FuzzMetrics(f *testing.F) {
	const line = `{"kind":"train","step":1,"tokens":5,"loss":2.5,"lr":0.1,"grad_norm":1,"clip":1,"tokens_per_s":3,"seconds":1}` + "\n"
	for _, s := range []string{"", line, line + line[:40], "\n", "null\n", `{"kind":"eval","step":2}` + "\n" + line, `{"kind":"train","step":1e400}`, `{"kind":"x","step":9223372036854775807}` + "\n",
		`{"kind":"train","step":1,"seconds":"NaN"}`, line + "\x00\xff\n" + line, `{"kind":"inspect","step":3,"blocks":[{"path":5}]}` + "\n"} {
		f.Add([]byte(s), int64(5))
	}
	f.Fuzz(func(t *testing.T, data []byte, step int64) {
		path := filepath.Join(t.TempDir(), "metrics.jsonl")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		problemtest.Bounded(t, len(data), 400, func() {
			if _, err := Read(path); err != nil {
				problemtest.Says(t, err, path+":")
			}
			w, _, err := Open(path, step)
			now, readErr := os.ReadFile(path)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if err != nil {
				problemtest.Says(t, err, path)
				if !bytes.Equal(now, data) {
					t.Errorf("refused with %v, and yet changed from %q to %q", err, data, now)
				}
				return
			}
			defer w.Close()
			if !bytes.HasPrefix(append(data, '\n'), now) {
				t.Errorf("%q became %q", data, now)
			}
			if err := w.Write(Note{Step: step, Text: "after"}); err != nil {
				t.Fatal(err)
			}
			if records, err := Read(path); err == nil && (len(records) == 0 || records[len(records)-1] != Record(Note{Step: step, Text: "after"})) {
				t.Errorf("the record behind %q is lost: %v", now, records)
			}
		})
	})
}
