//go:build gpu

package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mutated is the variable by which a child process runs with one line of PTX taken out: "module:line".
const mutated = "PRENORM_CUDA_TEST_MUTATED"

// exercises says which tests run the kernels of each module; KERNEL stands for the name of the kernel that is changed.
var exercises = map[*module]string{
	elementwise:    "TestConformance/^(fill|add|scale|softcap|addbias)$",
	activations:    "TestConformance/^(activation|gated)",
	dropout:        "TestConformance/^dropout$",
	reduce:         "TestConformance/^sumrows$",
	norms:          "TestConformance/norm|TestLongRuns",
	rows:           "TestConformance/^(embed|rope|cache)|TestLargeVocabulary",
	optimizer:      "TestConformance/^(global|clip|adamw|sgd)",
	matmuls:        "TestProducts/^KERNEL$",
	matmulsBF16:    "TestProducts/^KERNEL$",
	matmulsTF32:    "TestProducts/^KERNEL$",
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
// little. The software driver's checks must miss none. Of the tensor cores' instructions, of which a kernel has many alike, three of each
// kind are taken.
var (
	ordering = regexp.MustCompile(`\b(bar\.(warp\.)?sync|cp\.async\.wait_group)\b`)
	tensor   = regexp.MustCompile(`\b(ldmatrix|mma)\.sync\b`)
)

// mutation is one line of a kernel that is taken out.
type mutation struct {
	line         int
	kernel, text string
}

// mutations lists what is taken out of a module.
func mutations(ptx string) (all []mutation) {
	kernel := ""
	alike := map[string][]mutation{} // by kernel and instruction
	for i, line := range strings.Split(ptx, "\n") {
		if rest, ok := strings.CutPrefix(line, ".visible .entry "); ok {
			kernel = strings.TrimSuffix(rest, "(")
		}
		m := mutation{i, kernel, strings.TrimSpace(line)}
		if ordering.MatchString(line) {
			all = append(all, m)
		} else if tensor.MatchString(line) {
			key := kernel + " " + strings.Fields(line)[0]
			alike[key] = append(alike[key], m)
		}
	}
	for _, list := range alike {
		n := len(list)
		for _, i := range slices.Compact([]int{0, n / 2, n - 1}) {
			all = append(all, list[i])
		}
	}
	slices.SortFunc(all, func(a, b mutation) int { return a.line - b.line })
	return all
}

// TestMutations takes the lines out, one at a time, and wants the tests of their kernel to fail. PRENORM_SLOW=1 runs it.
func TestMutations(t *testing.T) {
	if os.Getenv("PRENORM_SLOW") == "" {
		t.Skip("takes minutes: PRENORM_SLOW=1 runs it")
	}
	if b := opened(t); !strings.Contains(b.Device(), "Software") {
		t.Skip("a GPU does not look for what is missing")
	}
	files, _ := filepath.Glob("*.ptx")
	if len(files) != len(exercises) {
		t.Errorf("%d files of PTX, %d modules have tests", len(files), len(exercises))
	}
	for m, tests := range exercises {
		t.Run(m.name, func(t *testing.T) {
			for _, u := range mutations(m.ptx) {
				cmd := exec.Command(os.Args[0], "-test.run="+strings.ReplaceAll(tests, "KERNEL", u.kernel))
				cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s:%d", mutated, m.name, u.line), "EMU_RACECHECK=1", "EMU_INITCHECK=1", "EMU_FUZZ=1")
				if out, err := cmd.CombinedOutput(); err == nil {
					t.Errorf("%s.ptx:%d: %s: the tests pass without %s\n%.200s", m.name, u.line+1, u.kernel, u.text, out)
				}
			}
		})
	}
}
