//go:build gpu

package cuda

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mutated is the variable by which a child process runs with lines of PTX changed: "module:edit:line,line…", lines counted from 0.
const mutated = "PRENORM_CUDA_TEST_MUTATED"

// exercises says which tests run the kernels of each module; KERNEL stands for the name of the kernel that is changed.
var exercises = map[*module]string{
	elementwise:    "TestConformance/^(convert|fill|add|scale|gradscale|softcap|addbias)$",
	activations:    "TestConformance/^(activation|gated)",
	dropout:        "TestConformance/^dropout$",
	reduce:         "TestConformance/^sumrows$|TestManyRows",
	norms:          "TestConformance/^(add_)?(rms|layer)norm$|TestLongRuns",
	normGrads:      "TestConformance/norm.grad$|TestLongRuns|TestManyRows",
	rows:           "TestConformance/^(embed|rope|cache)|TestLargeVocabulary",
	optimizer:      "TestConformance/^(global|clip|adamw|sgd)|TestManySquares",
	moments:        "TestConformance/^moments$",
	batchNorms:     "TestConformance/^batchnorm",
	samples:        "TestConformance/^sample_tokens$",
	matmuls:        "TestProducts/^KERNEL$",
	matmulsBF16:    "TestProducts/^KERNEL$",
	matmulsTF32:    "TestProducts/^KERNEL$",
	packings:       "TestConformance/^(pack_weights|round_weights|packed_matmul)$",
	gates:          "TestConformance/^(gate|dyt)|TestMoreRowsThanWarps",
	heads:          "TestConformance/^linear",
	attentions:     "TestConformance/^attention$/f32|TestLargeHeads",
	attentionGrads: "TestConformance/^attention.grad$/f32|TestLargeHeads",
	flashes:        "TestConformance/^attention$/bf16|TestFlashDimensions",
	flashGrads:     "TestConformance/^attention.grad$/bf16|TestFlashDimensions",
	cached:         "TestConformance/^attention.cached$|TestLargeHeads",
}

// mutate changes the lines that the variable names.
func mutate(where string) {
	part := strings.SplitN(where, ":", 3)
	for m := range exercises {
		if m.name != part[0] {
			continue
		}
		lines := strings.Split(m.ptx, "\n")
		for _, number := range strings.Split(part[2], ",") {
			i, err := strconv.Atoi(number)
			if err != nil {
				panic(err)
			}
			lines[i] = edited(lines[i], part[1])
		}
		m.ptx = strings.Join(lines, "\n")
	}
}

var comparison = regexp.MustCompile(`\bsetp\.\w+\.s32 (\w+), .*`)

// edited is a line after an edit: "remove" takes it away, "always" makes a comparison hold, and anything else is the comparison to make instead.
func edited(line, edit string) string {
	switch edit {
	case "remove":
		return ""
	case "always":
		return comparison.ReplaceAllString(line, "setp.eq.s32 $1, 0, 0;")
	}
	return strings.Replace(line, comparison.FindString(line)[:len("setp.le")], "setp."+edit, 1)
}

// mutation is a change of some lines of one kernel, all in the same way.
type mutation struct {
	kernel, edit string
	lines        []int
}

// survives runs the tests of a module with a mutation and says so if they pass.
func (u mutation) survives(t *testing.T, m *module, checks ...string) {
	t.Helper()
	var numbers []string
	for _, i := range u.lines {
		numbers = append(numbers, strconv.Itoa(i))
	}
	if out, err := runExercise(m, u.kernel, append(checks, fmt.Sprintf("%s=%s:%s:%s", mutated, m.name, u.edit, strings.Join(numbers, ",")))...); err == nil {
		line := strings.TrimSpace(strings.Split(m.ptx, "\n")[u.lines[0]])
		t.Errorf("%s.ptx:%d: %s: the tests pass with %d lines like %q changed: %s\n%.200s", m.name, u.lines[0]+1, u.kernel, len(u.lines), line, u.edit, out)
	}
}

// runExercise runs the tests of a module, those of one kernel where they can be told apart.
func runExercise(m *module, kernel string, variables ...string) ([]byte, error) {
	cmd := exec.Command(os.Args[0], "-test.run="+strings.ReplaceAll(exercises[m], "KERNEL", kernel))
	cmd.Env = append(os.Environ(), variables...)
	return cmd.CombinedOutput()
}

// orderChecks switch on what the software driver knows of order.
var orderChecks = []string{"EMU_RACECHECK=1", "EMU_INITCHECK=1", "EMU_FUZZ=1"}

// kernelLines calls f with every line of a module's kernels.
func kernelLines(m *module, f func(kernel string, i int, line string)) {
	kernel := ""
	for i, line := range strings.Split(m.ptx, "\n") {
		if rest, ok := strings.CutPrefix(line, ".visible .entry "); ok {
			kernel = strings.TrimSuffix(rest, "(")
		}
		f(kernel, i, line)
	}
}

// mutations runs f for modules, whose tests must pass as they are. It skips a test where mutations cannot be tried.
func mutations(t *testing.T, modules []*module, f func(t *testing.T, m *module)) {
	t.Helper()
	if os.Getenv("PRENORM_SLOW") == "" {
		t.Skip("takes minutes: PRENORM_SLOW=1 runs it")
	}
	if b := opened(t); !strings.Contains(b.Device(), "Software") {
		t.Skip("a GPU does not look for what is missing")
	}
	for _, m := range modules {
		t.Run(m.name, func(t *testing.T) {
			if out, err := runExercise(m, ".*", orderChecks...); err != nil {
				t.Fatalf("the tests fail without a mutation, so with one they would say nothing: %v\n%s", err, out)
			}
			f(t, m)
		})
	}
}

// exercised are all modules.
func exercised() []*module { return slices.Collect(maps.Keys(exercises)) }

// ordering are the instructions that order threads and copies: without any one of them results are wrong only sometimes, so a test that
// passes says little. The software driver's checks must miss none.
var ordering = regexp.MustCompile(`\b(bar\.(warp\.)?sync|cp\.async\.wait_group)\b`)

// TestMutations takes out every barrier and every wait for copies, one at a time, and wants the tests of its kernel to fail. PRENORM_SLOW=1
// runs it.
func TestMutations(t *testing.T) {
	files, _ := filepath.Glob("*.ptx")
	if len(files) != len(exercises) {
		t.Errorf("%d files of PTX, %d modules have tests", len(files), len(exercises))
	}
	mutations(t, exercised(), func(t *testing.T, m *module) {
		kernelLines(m, func(kernel string, i int, line string) {
			if ordering.MatchString(line) {
				mutation{kernel, "remove", []int{i}}.survives(t, m, orderChecks...)
			}
		})
	})
}

// products are the instructions of tensor cores.
var products = regexp.MustCompile(`\b(ldmatrix|mma)\b`)

// TestMutatedProducts takes out the first, the middle and the last of the tensor-core instructions of each kind in each kernel.
func TestMutatedProducts(t *testing.T) {
	mutations(t, exercised(), func(t *testing.T, m *module) {
		type kind struct{ kernel, instruction string }
		found := map[kind][]int{}
		kernelLines(m, func(kernel string, i int, line string) {
			if op := products.FindString(line); op != "" {
				found[kind{kernel, op}] = append(found[kind{kernel, op}], i)
			}
		})
		for k, lines := range found {
			n := len(lines)
			for _, i := range slices.Compact([]int{0, n / 2, n - 1}) {
				mutation{k.kernel, "remove", lines[i : i+1]}.survives(t, m, orderChecks...)
			}
		}
	})
}

// masks are the comparisons that decide what a row sees, as attentionmask.cuh names them, and what becomes of them in a test.
var (
	masks     = regexp.MustCompile(`setp\.(\w+)\.s32 .*// mask (\w+)`)
	maskEdits = map[string][]string{"le": {"gt", "lt", "always"}, "lt": {"ge", "le", "always"}, "eq": {"ne", "always"}}
)

// TestMutatedMasks turns the comparisons of each mask of each kernel round, moves their edge by one, and takes them away. The compiler
// writes one comparison of the source many times; they are changed together.
func TestMutatedMasks(t *testing.T) {
	mutations(t, []*module{attentions, attentionGrads, flashes, flashGrads}, func(t *testing.T, m *module) {
		found := map[string]*mutation{}
		kernelLines(m, func(kernel string, i int, line string) {
			mask := masks.FindStringSubmatch(line)
			if mask == nil {
				return
			}
			key := kernel + " " + mask[2]
			if found[key] == nil {
				found[key] = &mutation{kernel: kernel, edit: mask[1]}
			}
			found[key].lines = append(found[key].lines, i)
		})
		if len(found) < 3 {
			t.Fatalf("%d masks: are they named?", len(found))
		}
		for _, u := range found {
			for _, edit := range maskEdits[u.edit] {
				mutation{u.kernel, edit, u.lines}.survives(t, m)
			}
		}
	})
}
