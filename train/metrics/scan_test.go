package metrics

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestLongLine wants a line of a length that no record has to take a bounded part of the memory, be cut off at the end of a file, and be refused with its
// number in the middle of one.
func TestLongLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.jsonl")
	w, _ := openFile(t, path, -1)
	write(t, w, Train{Step: 1}, Train{Step: 2})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := content(t, path)
	const size = 40 * longest
	if err := os.Truncate(path, int64(len(whole))+size); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w, r := openFile(t, path, 2)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 8*longest {
		t.Errorf("%d bytes were allocated for a line of %d", got, size)
	}
	if err := w.Close(); err != nil || r.Torn != size || r.Kept != 2 || content(t, path) != whole {
		t.Errorf("%+v, %v", r, err)
	}
	put(t, path, whole+`{"kind":"sample","step":2,"text":"`+strings.Repeat("x", longest)+"\"}\n"+whole)
	if _, _, err := Open(path, 2); err == nil || !strings.Contains(err.Error(), ":3: is not a record: it has more than") {
		t.Error(err)
	}
}
