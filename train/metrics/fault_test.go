package metrics

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var errFault = errors.New("injected fault")

// faulty is a file of which an operation fails: once, or that one and all later ones. A write that fails has written half.
type faulty struct {
	*os.File
	count, at int
	ever      bool
}

func (f *faulty) fails() bool {
	f.count++
	return f.count == f.at || f.ever && f.at > 0 && f.count > f.at
}

func (f *faulty) Write(p []byte) (int, error) {
	if f.fails() {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, errFault
	}
	return f.File.Write(p)
}

func (f *faulty) Read(p []byte) (int, error) {
	if f.fails() {
		return 0, errFault
	}
	return f.File.Read(p)
}

func (f *faulty) Seek(offset int64, whence int) (int64, error) {
	if f.fails() {
		return 0, errFault
	}
	return f.File.Seek(offset, whence)
}

func (f *faulty) Truncate(size int64) error {
	if f.fails() {
		return errFault
	}
	return f.File.Truncate(size)
}

func (f *faulty) Sync() error {
	if f.fails() {
		return errFault
	}
	return f.File.Sync()
}

// TestEveryFileOperationFails fails every operation of opening a file that holds the records of steps 1 to 8 for a run that goes on from step
// 5, and of writing and syncing the rest; the run then goes on once more, and the file must be that of a run without a fault.
func TestEveryFileOperationFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "whole.jsonl")
	w, _ := openFile(t, path, -1)
	run(t, w, 1, 12)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := content(t, path)
	path = filepath.Join(dir, "metrics.jsonl")
	attempt := func(f *faulty) error {
		w, _, err := openFrom(f, path, 5)
		if err != nil {
			return err
		}
		for s := int64(6); s <= 12; s++ {
			for _, r := range recordsOf(s) {
				if err := w.Write(r); err != nil {
					return errors.Join(err, w.Close())
				}
			}
		}
		return errors.Join(w.Sync(), w.Close())
	}
	faults := 0
	for _, ever := range []bool{false, true} {
		for at := 1; ; at++ {
			put(t, path, whole[:strings.Index(whole, `{"kind":"train","step":9,`)])
			file, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			f := &faulty{File: file, at: at, ever: ever}
			err = attempt(f)
			if f.count < at {
				break
			}
			faults++
			if !errors.Is(err, errFault) {
				t.Errorf("operation %d failed without an error", at)
			}
			if records, err := Read(path); err != nil || len(records) < 7 { // what a checkpoint of step 5 has measured is never lost
				t.Errorf("operation %d: %d records are left, %v", at, len(records), err)
			}
			w, _ := openFile(t, path, 5)
			run(t, w, 6, 12)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if got := content(t, path); got != whole {
				t.Fatalf("operation %d, then recovered: file\n%s\nwant\n%s", at, got, whole)
			}
		}
	}
	if faults < 30 {
		t.Errorf("only %d faults", faults)
	}
	t.Logf("%d failures of a file operation", faults)
}

// TestTornTail cuts the power while the lines after a checkpoint of step 5 are not durable: of them any beginning may be there, and behind it
// zeros or what lay on the disk before. What is torn is cut off and said.
func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "whole.jsonl")
	w, _ := openFile(t, path, -1)
	run(t, w, 1, 8)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := content(t, path)
	durable := strings.Index(whole, `{"kind":"train","step":6,`)
	path = filepath.Join(dir, "metrics.jsonl")
	cuts := 0
	for n := durable; n <= len(whole); n += 3 {
		for _, tail := range []string{"", "\x00", strings.Repeat("\x00", 100), "\xff\xfe{", "}\n{\"kind\":"} {
			put(t, path, whole[:n]+tail)
			w, recovered := openFile(t, path, 5)
			if torn := !strings.HasSuffix(whole[:n]+tail, "\n"); torn && n-durable > 1 && tail != "" && (recovered.Torn == 0 || !strings.Contains(recovered.String(), "cut off an unfinished line")) {
				t.Errorf("cut after byte %d with the tail %q: recovered %+v %q", n, tail, recovered, recovered)
			}
			cuts++
			run(t, w, 6, 8)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if got := content(t, path); got != whole {
				t.Fatalf("cut after byte %d with the tail %q: file\n%q\nwant\n%q", n, tail, got, whole)
			}
		}
	}
	t.Logf("%d cuts of the power", cuts)
}

// openFaulty opens a new file of measurements on one that fails when it is told to.
func openFaulty(t *testing.T) (path string, f *faulty, w *Writer) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "metrics.jsonl")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	f = &faulty{File: file}
	if w, _, err = openFrom(f, path, -1); err != nil {
		t.Fatal(err)
	}
	return path, f, w
}

// TestPending wants records that could not be written to come before the next, whole and in order, or by themselves.
func TestPending(t *testing.T) {
	path, f, w := openFaulty(t)
	for step, text := range []string{"a", "b", "c"} {
		f.count, f.at = 0, 1
		if err := w.Write(Note{Step: int64(step), Text: text}); !errors.Is(err, errFault) {
			t.Errorf("record %d: %v", step, err)
		}
		f.at = 0
		if step == 1 {
			if err := w.Again(); err != nil {
				t.Error(err)
			}
		}
	}
	write(t, w, Note{Step: 3, Text: "d"})
	if err := errors.Join(w.Again(), w.Close()); err != nil {
		t.Error(err)
	}
	records, err := Read(path)
	got := ""
	for _, r := range records {
		got += r.(Note).Text
	}
	if err != nil || got != "abcd" {
		t.Errorf("records %q, %v", got, err)
	}
}

// TestHalfLineIsCutLater fails a write, which leaves half a line, and what would cut it off: that is done before the next record.
func TestHalfLineIsCutLater(t *testing.T) {
	path, f, w := openFaulty(t)
	write(t, w, Note{Step: 1, Text: "a"})
	f.count, f.at, f.ever = 0, 1, true
	for _, text := range []string{"b", "c"} {
		if err := w.Write(Note{Step: 2, Text: text}); !errors.Is(err, errFault) {
			t.Error(err)
		}
	}
	if got := content(t, path); !strings.Contains(got, "\n{") || strings.HasSuffix(got, "\n") {
		t.Errorf("no half line stands there, so the test shows nothing: %q", got)
	}
	f.at = 0
	write(t, w, Note{Step: 3, Text: "d"})
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	want := ""
	for _, r := range []Note{{1, "a"}, {2, "b"}, {2, "c"}, {3, "d"}} {
		want += fmt.Sprintf("{\"kind\":\"note\",\"step\":%d,\"text\":%q}\n", r.Step, r.Text)
	}
	if got := content(t, path); got != want {
		t.Errorf("file\n%q\nwant\n%q", got, want)
	}
}

// synced notes what is done to a file.
type synced struct {
	*os.File
	done []string
}

func (s *synced) Write(p []byte) (int, error) {
	s.done = append(s.done, "write")
	return s.File.Write(p)
}

func (s *synced) Sync() error {
	s.done = append(s.done, "sync")
	return s.File.Sync()
}

func (s *synced) Close() error {
	s.done = append(s.done, "close")
	return s.File.Close()
}

// TestCloseSyncs wants what was written last to be durable before the file is closed, and a file that cannot be made so to be told of.
func TestCloseSyncs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	for _, fails := range []bool{false, true} {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		s := &synced{File: file}
		w, _, err := openFrom(s, path, -1)
		if err != nil {
			t.Fatal(err)
		}
		write(t, w, Note{Step: 1, Text: "a"})
		if fails {
			w.file = &faulty{File: file, at: 1}
			if err := w.Close(); !errors.Is(err, errFault) {
				t.Error(err)
			}
			continue
		}
		if err := w.Close(); err != nil || !slices.Equal(s.done, []string{"write", "sync", "close"}) {
			t.Errorf("%v, %v", s.done, err)
		}
	}
}
