package train

import (
	"archive/zip"
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"prenorm/data/batch"
	"prenorm/train/safetensors"
)

// TestBundleOfEarlierVersion wants a bundle without steps before to be what it always was, byte for byte but for the dates in the archive, and to be
// read: versions that did not know of them wrote that, and read it.
func TestBundleOfEarlierVersion(t *testing.T) {
	var whole bytes.Buffer
	seal, err := tinyBundle(3).write(&whole)
	if err != nil || seal != "e622c81832e61d22f201172eca1c90f957cbc843ecbb41885ef8347473942368" {
		t.Errorf("seal %s, %v", seal, err)
	}
	if b, err := parseBundle(whole.Bytes()); err != nil || b.Before != nil || b.BeforeText != "" || len(b.BeforeLines()) != 0 {
		t.Errorf("%+v, %v", b, err)
	}
	archive, err := zip.NewReader(bytes.NewReader(whole.Bytes()), int64(whole.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.File {
		if date := file.Modified.UTC().Format(time.DateTime); date != "1980-01-01 00:00:00" {
			t.Errorf("%s is dated %s", file.Name, date)
		}
	}
}

// TestStepsBeforeAreChecked wants steps before that no run writes to be refused.
func TestStepsBeforeAreChecked(t *testing.T) {
	micros := tinyBundle(3).micros
	files := func(n int) map[string][]byte {
		var all []*batch.Batch
		for range n {
			all = append(all, micros[0])
		}
		var out bytes.Buffer
		if err := safetensors.Write(&out, batchTensors(all), nil); err != nil {
			t.Fatal(err)
		}
		return map[string][]byte{beforeFile: out.Bytes(), beforeTextFile: []byte("text")}
	}
	wide := files(4)
	var out bytes.Buffer
	if err := safetensors.Write(&out, batchTensors(slices.Repeat([]*batch.Batch{{B: 2, T: 1, Inputs: []int32{1, 2}, Targets: []int32{1, 2}}}, 4)), nil); err != nil {
		t.Fatal(err)
	}
	wide[beforeFile] = out.Bytes()
	for _, c := range []struct {
		want  string
		steps []int64
		files map[string][]byte
	}{
		{"", []int64{1, 2}, files(4)},
		{"", nil, nil},
		{"report.json: before: step 1 in the place of step 2", []int64{1, 1}, files(4)},
		{"report.json: before: step 2 in the place of step 1", []int64{2, 3}, files(4)},
		{"has no before.safetensors or no before.txt", []int64{1, 2}, nil},
		{"before.safetensors: 3 micro-batches of", []int64{1, 2}, files(3)},
		{"wants those of 2 steps like this one: 4 of", []int64{1, 2}, wide},
		{"before.safetensors: safetensors", []int64{2}, map[string][]byte{beforeFile: []byte("x"), beforeTextFile: []byte("x")}},
	} {
		b := &Bundle{Report: Report{Step: 3}, Micros: micros}
		for _, s := range c.steps {
			b.Report.Before = append(b.Report.Before, Recent{Step: s})
		}
		if err := b.parseBefore(c.files); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("steps %v: %v, wants %q", c.steps, err, c.want)
		}
	}
}
