package survey

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"prenorm/data"
	"prenorm/data/dataset"
)

// filled writes documents of words at random to a file in the folder at hand: so many of about so many bytes each.
func filled(t *testing.T, name string, documents, size int) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, uint64(name[0])))
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for range documents {
		w.WriteString(`{"text": "`)
		for n := 0; n < size; n += 4 {
			fmt.Fprintf(w, "%03x ", r.IntN(1<<12))
		}
		w.WriteString("\"}\n")
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// survey30 surveys the files in the folder at hand, each a source where there are several, of which three tenths are validation text, and calls look
// whenever it tells of progress.
func survey30(t *testing.T, look func()) {
	t.Helper()
	cfg := data.Default()
	cfg.Train, cfg.Tokenizer.Kind, cfg.Val.Fraction = []string{"a.jsonl"}, "byte", 0.3
	if names, _ := filepath.Glob("*.jsonl"); len(names) > 1 {
		cfg.Train = nil
		for _, name := range names {
			cfg.Sources = append(cfg.Sources, data.Source{Name: name[:1], Train: []string{name}, Weight: 1})
		}
	}
	d, err := dataset.Open(cfg, dataset.Options{Dir: "data"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := Run(cfg, d, Options{Progress: func(string, int64, int64) { look() }}); err != nil {
		t.Fatal(err)
	}
}

// TestMemoryDoesNotGrow has the heap of a survey grow by little from a text to one of as many documents of eight times the size, with limits that
// both reach.
func TestMemoryDoesNotGrow(t *testing.T) {
	defer func(grams, packed, most int) { mostGrams, mostPacked, mostGiven = grams, packed, most }(mostGrams, mostPacked, mostGiven)
	mostGrams, mostPacked, mostGiven = 1<<12, 1<<18, 1<<16
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	var peaks []uint64
	for _, size := range []int{5000, 40_000} {
		t.Chdir(t.TempDir())
		filled(t, "a.jsonl", 500, size)
		peak, n := uint64(0), 0
		var m runtime.MemStats
		survey30(t, func() {
			if n++; n%20 == 0 {
				runtime.GC() // what nobody holds does not count, however late it would be found on a busy machine
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapAlloc)
			}
		})
		peaks = append(peaks, peak)
	}
	// What waits for workers is at most 8 MiB of text, of which the smaller text has no more than 2.5 MB.
	if grown := int64(peaks[1]) - int64(peaks[0]); grown > 10<<20 {
		t.Errorf("20 MB of text take %.1f MiB, 2.5 MB take %.1f", float64(peaks[1])/(1<<20), float64(peaks[0])/(1<<20))
	} else {
		t.Logf("%.1f and %.1f MiB", float64(peaks[0])/(1<<20), float64(peaks[1])/(1<<20))
	}
}

// memoryFolder is the variable of the environment by which [TestMemoryIsBounded] tells its child what to survey.
const memoryFolder = "PRENORM_SURVEY_MEMORY"

// TestMemoryIsBounded surveys texts of more n-grams than are looked for in processes of their own: memory that is not of files is below what
// docs/data-report.md says.
func TestMemoryIsBounded(t *testing.T) {
	if dir := os.Getenv(memoryFolder); dir != "" {
		t.Chdir(dir)
		peak := 0
		survey30(t, func() { peak = max(peak, anonymous()) })
		fmt.Printf("peak %d\n", peak)
		return
	}
	if os.Getenv("PRENORM_SLOW") == "" || runtime.GOOS != "linux" {
		t.Skip("surveys 160 MB; PRENORM_SLOW=1 on Linux runs it")
	}
	for _, c := range [][3]int{{2000, 10_000, 1}, {2000, 40_000, 1}, {60_000, 1000, 1}, {60_000, 300, 3}} {
		t.Chdir(t.TempDir())
		for i := range c[2] {
			filled(t, string('a'+rune(i))+".jsonl", c[0], c[1])
		}
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestMemoryIsBounded$")
		cmd.Env = append(os.Environ(), memoryFolder+"="+dir)
		out, err := cmd.Output()
		_, after, found := bytes.Cut(out, []byte("peak "))
		line, _, _ := strings.Cut(string(after), "\n")
		peak, wrong := strconv.Atoi(line)
		if err != nil || !found || wrong != nil || peak == 0 {
			t.Fatalf("%v: %s", err, out)
		}
		most := 256<<20 + 2048*c[0]*c[2]
		t.Logf("%d documents of %d bytes in each of %d sources: %d MiB of %d", c[0], c[1], c[2], peak>>20, most>>20)
		if peak > most {
			t.Errorf("%d documents of %d bytes in each of %d sources take %d MiB, more than %d", c[0], c[1], c[2], peak>>20, most>>20)
		}
	}
}

// anonymous is the memory that this process has now, in bytes, without pages of files; 0 where the system does not tell.
func anonymous() (n int) {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "RssAnon:" {
			n, _ = strconv.Atoi(fields[1])
		}
	}
	return n << 10
}
