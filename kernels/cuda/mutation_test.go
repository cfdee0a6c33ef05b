//go:build gpu

package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mutated is the variable by which a child process runs with one line of PTX taken out: "module:line".
const mutated = "PRENORM_CUDA_TEST_MUTATED"

// exercises says which tests run the kernels of each module.
var exercises = map[*module]string{
	elementwise:    "TestConformance/^(convert|fill|add|scale|softcap|addbias)$",
	activations:    "TestConformance/^(activation|gated)",
	dropout:        "TestConformance/^dropout$",
	reduce:         "TestConformance/^sumrows$|TestManyRows",
	norms:          "TestConformance/^(add_)?(rms|layer)norm$|TestLongRuns",
	normGrads:      "TestConformance/norm.grad$|TestLongRuns|TestManyRows",
	rows:           "TestConformance/^(embed|rope|cache)|TestLargeVocabulary",
	optimizer:      "TestConformance/^(global|clip|adamw|sgd)",
	samples:        "TestConformance/^sample_tokens$",
	matmuls:        "TestConformance/^matmul$|TestLargeTiles",
	heads:          "TestConformance/^linear",
	attentions:     "TestConformance/^attention$|TestLargeHeads",
	attentionGrads: "TestConformance/^attention.grad$|TestLargeHeads",
	cached:         "TestConformance/^attention.cached$|TestLargeHeads",
}

// mutate takes the line out that the variable names.
func mutate(where string) {
	name, line, _ := strings.Cut(where, ":")
	for m := range exercises {
		if m.name == name {
			lines := strings.Split(m.ptx, "\n")
			var i int
			if _, err := fmt.Sscan(line, &i); err != nil {
				panic(err)
			}
			lines[i] = ""
			m.ptx = strings.Join(lines, "\n")
		}
	}
}

// ordering are the instructions that order threads: without any one of them results are wrong only sometimes, so a test that passes says
// little. The software driver's checks must miss none.
var ordering = regexp.MustCompile(`\bbar\.(warp\.)?sync\b`)

// TestMutations takes out every barrier, one at a time, and wants the tests of its kernel to fail. PRENORM_SLOW=1 runs it.
func TestMutations(t *testing.T) {
	if os.Getenv("PRENORM_SLOW") == "" {
		t.Skip("takes minutes: PRENORM_SLOW=1 runs it")
	}
	if b := opened(t); !strings.Contains(b.Device(), "Software") {
		t.Skip("a GPU does not look for missing barriers")
	}
	files, _ := filepath.Glob("*.ptx")
	if len(files) != len(exercises) {
		t.Errorf("%d files of PTX, %d modules have tests", len(files), len(exercises))
	}
	for m, tests := range exercises {
		kernel := ""
		for i, line := range strings.Split(m.ptx, "\n") {
			if rest, ok := strings.CutPrefix(line, ".visible .entry "); ok {
				kernel = rest
			}
			if !ordering.MatchString(line) {
				continue
			}
			cmd := exec.Command(os.Args[0], "-test.run="+tests)
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s:%d", mutated, m.name, i), "EMU_RACECHECK=1", "EMU_INITCHECK=1", "EMU_FUZZ=1")
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("%s.ptx:%d: %s: the tests pass without %s\n%.200s", m.name, i+1, kernel, strings.TrimSpace(line), out)
			}
		}
	}
}
