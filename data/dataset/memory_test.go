package dataset

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestMemoryDoesNotGrow prepares a text of 16 MiB and one of 400 MB in processes of their own, as one document and as packed rows: the
// second takes no more than a little memory besides, and far less than its size.
func TestMemoryDoesNotGrow(t *testing.T) {
	if os.Getenv("PRENORM_SLOW") == "" || runtime.GOOS != "linux" {
		t.Skip("writes 800 MB; PRENORM_SLOW=1 on Linux runs it")
	}
	for _, kind := range []string{"txt", "jsonl.zst"} {
		var peaks []int64
		for _, size := range []int{16 << 20, 400e6} {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "text"), 0o777); err != nil {
				t.Fatal(err)
			}
			file, err := os.Create(filepath.Join(dir, "text", "a."+kind))
			if err != nil {
				t.Fatal(err)
			}
			if err := generate(file, size, kind); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "val.txt"), words(9000))
			peaks = append(peaks, peak(t, dir))
		}
		t.Logf("%s: %d and %d MiB", kind, peaks[0]>>20, peaks[1]>>20)
		if grown := peaks[1] - peaks[0]; grown > 48<<20 || peaks[1] > 128<<20 {
			t.Errorf("%s: a text of 400 MB takes %d MiB, one of 16 MiB %d MiB", kind, peaks[1]>>20, peaks[0]>>20)
		}
	}
}

// generate writes about so many bytes of text.
func generate(file *os.File, size int, kind string) error {
	var out io.WriteCloser = file
	if strings.HasSuffix(kind, ".zst") {
		z, err := zstd.NewWriter(file)
		if err != nil {
			return err
		}
		defer file.Close()
		out = z
	}
	block := words(1 << 20)
	for done := 0; done < size; done += len(block) {
		text := fmt.Sprint(done, " ", block)
		if strings.HasPrefix(kind, "jsonl") {
			rows := ""
			for at := 0; at < len(block); at += 4096 {
				rows += fmt.Sprintf("{\"text\": %q}\n", strings.ToValidUTF8(fmt.Sprint(done+at, " ", block[at:min(at+4096, len(block))]), ""))
			}
			text = strings.ReplaceAll(rows, `\x`, `\\x`)
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	return out.Close()
}

// peak prepares a folder in a process of its own and returns the most memory that it had.
func peak(t *testing.T, dir string) int64 {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^TestPreparation$")
	cmd.Env = append(os.Environ(), prepareFolder+"="+dir)
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
