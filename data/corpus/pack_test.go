package corpus

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"prenorm/data"
)

func gz(t testing.TB, text string) string {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func zst(t testing.TB, text string, options ...zstd.EOption) string {
	t.Helper()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out, options...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// archive makes a tar archive of names and texts in turn. A name that ends in a slash is a folder's.
func archive(t testing.TB, members ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := 0; i < len(members); i += 2 {
		h := &tar.Header{Name: members[i], Mode: 0o666, Size: int64(len(members[i+1]))}
		if strings.HasSuffix(h.Name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, members[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// small makes the limits of memory small for a test.
func small(t testing.TB, stretch, row int) {
	oldMost, oldRow := most, maxRow
	most, maxRow = stretch, row
	t.Cleanup(func() { most, maxRow = oldMost, oldRow })
}

// fixture reads a file of testdata.
func fixture(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// all lists name and text of the documents that a configuration reads, and the error.
func all(cfg data.Config, stdin io.Reader) (list string, err error) {
	c, err := Texts(cfg.Train, cfg, stdin, "")
	if err != nil {
		return "", err
	}
	defer c.Close()
	for d, err := range c.Documents(Train) {
		if err != nil {
			return list, err
		}
		list += fmt.Sprintf("[%s|%s]", d.Name, d.Text)
	}
	return list, nil
}
