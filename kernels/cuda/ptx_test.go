//go:build gpu

package cuda

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// write makes TestPTX write the .ptx files: go test -tags gpu ./kernels/cuda -run TestPTX -write.
var write = flag.Bool("write", false, "write the .ptx files that TestPTX compares")

// compiler is the library of the run-time compiler of CUDA 11.8, whose PTX the oldest drivers served can read.
func compiler(t *testing.T) string {
	if path := os.Getenv("PRENORM_NVRTC"); path != "" {
		return path
	}
	if *write {
		t.Fatal("PRENORM_NVRTC must name libnvrtc.so.11.2")
	}
	t.Skip("PRENORM_NVRTC names no libnvrtc.so.11.2 (the package nvidia-cuda-nvrtc-cu11 holds it)")
	return ""
}

// buildCompiler compiles testdata/compile.c.
func buildCompiler(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "compile")
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if out, err := exec.Command(cc, "-O1", "-Wall", "-o", program, "testdata/compile.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

var madeBy = regexp.MustCompile(`Cuda compilation tools, release [^\n]*`)

// TestPTX makes every .ptx file again and compares the bytes, if this is the compiler that the file says it was made by.
func TestPTX(t *testing.T) {
	library := compiler(t)
	program := buildCompiler(t)
	sources, err := filepath.Glob("*.cu")
	if err != nil || len(sources) == 0 {
		t.Fatal("no sources", err)
	}
	for _, source := range sources {
		t.Run(source, func(t *testing.T) {
			var stderr bytes.Buffer
			cmd := exec.Command(program, library, ".", source)
			cmd.Stderr = &stderr
			made, err := cmd.Output()
			if err != nil || stderr.Len() > 0 {
				t.Fatalf("%v\n%s", err, stderr.String())
			}
			path := strings.TrimSuffix(source, ".cu") + ".ptx"
			if *write {
				if err := os.WriteFile(path, made, 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			comparePTX(t, path, made)
		})
	}
}

func comparePTX(t *testing.T, path string, made []byte) {
	committed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	have, want := madeBy.Find(made), madeBy.Find(committed)
	if !bytes.Equal(have, want) {
		t.Skipf("made by %q, this compiler is %q", want, have)
	}
	if !bytes.Equal(made, committed) {
		t.Errorf("%s is not what its source gives (run kernels/cuda/ci.sh ptx)", path)
	}
}

// TestPTXHeader wants PTX that old drivers and all GPUs from sm_80 on can load, and a source for each file.
func TestPTXHeader(t *testing.T) {
	files, err := filepath.Glob("*.ptx")
	if err != nil || len(files) == 0 {
		t.Fatal("no PTX", err)
	}
	version := regexp.MustCompile(`(?m)^\.version (\d+)\.(\d+)$`)
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		v := version.FindSubmatch(text)
		if v == nil || !bytes.Contains(text, []byte("\n.target sm_80\n")) || madeBy.Find(text) == nil {
			t.Errorf("%s does not say its version, the target sm_80 and its compiler", path)
			continue
		}
		major, _ := strconv.Atoi(string(v[1]))
		minor, _ := strconv.Atoi(string(v[2]))
		if 100*major+minor > 708 {
			t.Errorf("%s has PTX %s.%s, the newest allowed is 7.8", path, v[1], v[2])
		}
		if _, err := os.Stat(strings.TrimSuffix(path, ".ptx") + ".cu"); err != nil {
			t.Errorf("%s has no source: %v", path, err)
		}
		if bytes.Contains(text, []byte("red.global.add.f")) || bytes.Contains(text, []byte("atom.global.add.f")) {
			t.Errorf("%s adds floating-point numbers atomically: results would depend on the order of threads", path)
		}
	}
}
