package train

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"prenorm/kernels"
)

// TestLargeNoBundle wants files that are as large as a disk, and no bundles, to be refused before they are read, and passed over by whoever looks for a free
// name.
func TestLargeNoBundle(t *testing.T) {
	left, known := kernels.HostLeft()
	for _, c := range []struct {
		end, want string
		size      int64
	}{
		{"", "has no checksum at its end", 1 << 30},
		{sealLabel + strings.Repeat("0", sealBytes), "of memory and", 2 * left},
	} {
		if c.end != "" && !known {
			t.Skip("nobody knows how much memory there is")
		}
		dir := t.TempDir()
		path := filepath.Join(dir, bundleName(3, 1))
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte(c.end), c.size-int64(len(c.end))); err != nil {
			t.Skip("this disk has no sparse files: ", err)
		}
		if err := f.Truncate(c.size); err != nil {
			t.Skip("this disk has no sparse files: ", err)
		}
		f.Close()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = ReadBundle(path)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 || err == nil || !strings.Contains(err.Error(), "bundle "+path+": ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d bytes were allocated: %v", got, err)
		}
		looked := &reads{}
		if f, err = os.Open(path); err != nil {
			t.Fatal(err)
		}
		looked.File = f
		end, err := lastBytes(looked)
		f.Close()
		if looked.bytes > sealBytes || err != nil || len(end) != sealBytes || c.end != "" && !strings.HasSuffix(c.end, end) {
			t.Errorf("%d bytes were read for the seal %q, %v", looked.bytes, end, err)
		}
	}
	short := filepath.Join(t.TempDir(), "short.zip")
	if err := os.WriteFile(short, []byte("PK"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadBundle(short); err == nil || !strings.Contains(err.Error(), "has no checksum at its end") {
		t.Error(err)
	}
}

// reads counts the bytes that are read of a file.
type reads struct {
	*os.File
	bytes int
}

func (r *reads) Read(p []byte) (int, error) {
	if r.bytes > 1<<20 {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := r.File.Read(p)
	r.bytes += n
	return n, err
}
