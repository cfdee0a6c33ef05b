package dataset

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestMemoryDoesNotGrow prepares a small text and a large one in processes of their own: one file, packed rows, many small files, and many packed
// ones. The second takes no more than a little memory besides, and far less than its size. PRENORM_SLOW=1 makes the large one 400 MB, and its ids bpe.
func TestMemoryDoesNotGrow(t *testing.T) {
	if runtime.GOOS != "linux" || raced { // the slow tests of CI are on Linux and without the race detector
		t.Skip("no other system tells what memory is not of files, and the race detector has memory for each byte")
	}
	small, large, most, tokenizer := 12<<20, 44<<20, int64(16<<20), "byte"
	if os.Getenv("PRENORM_SLOW") != "" {
		small, large, most, tokenizer = 16<<20, 400e6, 48<<20, "bpe"
	}
	for _, kind := range []string{"one.txt", "rows.jsonl.zst", "many.txt", "many.txt.gz"} {
		t.Run(kind, func(t *testing.T) {
			var peaks []int64
			for _, size := range []int{small, large} {
				dir := t.TempDir()
				generate(t, filepath.Join(dir, "text"), size, kind)
				write(t, filepath.Join(dir, "val.txt"), words(9000))
				peaks = append(peaks, peak(t, dir, tokenizer))
			}
			t.Logf("%d and %d MiB", peaks[0]>>20, peaks[1]>>20)
			if grown := peaks[1] - peaks[0]; grown > most || peaks[1] > 128<<20 {
				t.Errorf("a text of %d MB takes %d MiB, one of %d MB %d MiB", large/1e6, peaks[1]>>20, small/1e6, peaks[0]>>20)
			}
		})
	}
}

// generate fills a folder with about so many bytes of text, in one file or in many of 16 KiB.
func generate(t *testing.T, dir string, size int, kind string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	each, name, many := 1<<20, kind, strings.HasPrefix(kind, "many")
	if many {
		each = 16 << 10
	}
	block := strings.ToValidUTF8(words(each), "")
	var out io.WriteCloser
	for done := 0; done < size; done += each {
		if many {
			name = fmt.Sprint(done, kind)
		}
		var err error
		if out == nil {
			out, err = packed(filepath.Join(dir, name))
		}
		text := fmt.Sprint(done, " ", block)
		if strings.HasPrefix(kind, "rows") {
			text = rowsOf(text)
		}
		if err == nil {
			_, err = io.WriteString(out, text)
		}
		if err == nil && (many || done+each >= size) {
			err, out = out.Close(), nil
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// rowsOf is a text in rows of 4 KiB.
func rowsOf(text string) string {
	var rows strings.Builder
	for part := range slices.Chunk([]byte(text), 4096) {
		row, err := json.Marshal(map[string]string{"text": string(part)})
		if err != nil { // no text is like that
			panic(err)
		}
		rows.Write(append(row, '\n'))
	}
	return rows.String()
}

// packing closes what packs and the file behind it.
type packing struct {
	io.WriteCloser
	file *os.File
}

func (p packing) Close() error { return errors.Join(p.WriteCloser.Close(), p.file.Close()) }

// packed makes a file, packed as its name tells.
func packed(path string) (io.WriteCloser, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	switch filepath.Ext(path) {
	case ".gz":
		z, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
		return packing{z, file}, err
	case ".zst":
		z, err := zstd.NewWriter(file)
		return packing{z, file}, err
	}
	return file, nil
}

// peak prepares a folder in a process of its own and returns the most memory that it had.
func peak(t *testing.T, dir, tokenizer string) int64 {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^TestPreparation$")
	cmd.Env = append(os.Environ(), prepareFolder+"="+dir, prepareKind+"="+tokenizer,
		"GOGC=25",      // so that it has little but what it holds
		"GOMAXPROCS=2") // each core has bundles of its own, however many this machine has
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	most := int64(0)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if n, ok := strings.CutPrefix(lines.Text(), "peak "); ok {
			if most, err = strconv.ParseInt(n, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || most == 0 {
		t.Fatalf("%v, a peak of %d", err, most)
	}
	return most
}

// anonymous is the memory that this process has now, in bytes, without pages of files, which the system takes back as it likes; 0 where the
// system does not tell.
func anonymous() (n int64) {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "RssAnon:" {
			n, _ = strconv.ParseInt(fields[1], 10, 64)
		}
	}
	return n << 10
}
