package main_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "prenorm"

// packages says which packages of the module each may import, test files apart. A pattern "a/..." stands for a and all below it. Every
// package has a row.
var packages = map[string]string{
	"cmd/prenorm": "configs/... data/... kernels/... model/... train/...",

	"configs":                     "configs/problem data kernels model model/block train",
	"configs/problem":             "",
	"configs/problem/problemtest": "",

	"data":        "configs/problem data/token",
	"data/corpus": "configs/problem data data/dedup data/inorder",
	"data/token":  "configs/problem data/regular",

	"data/token/varied": "",
	"data/token/peers":  "data/token data/token/varied",

	"data/regular":  "",
	"data/shard":    "configs/problem data/regular",
	"data/batch":    "configs/problem",
	"data/inorder":  "",
	"data/dedup":    "",
	"data/baseline": "data/regular data/shard",
	"data/survey":   "data data/baseline data/corpus data/dataset data/dedup data/inorder data/shard data/token",
	"data/dataset":  "configs/problem data data/batch data/corpus data/regular data/shard data/token",

	"kernels":            "",
	"kernels/ref":        "kernels",
	"kernels/cpu":        "kernels",
	"kernels/cpu/peers":  "kernels kernels/cpu",
	"kernels/cuda":       "kernels",
	"kernels/kerneltest": "kernels kernels/ref",

	"model":        "configs/problem kernels model/block model/exec model/graph",
	"model/block":  "kernels model/graph",
	"model/op":     "kernels kernels/ref",
	"model/graph":  "kernels model/op",
	"model/exec":   "kernels model/op",
	"model/sample": "configs/problem kernels model model/exec",

	"train":                           "configs/problem data/... kernels model/... train/checkpoint train/metrics train/optim train/profile train/safetensors train/schedule",
	"train/bench":                     "data/batch kernels model model/exec model/sample train train/profile",
	"train/checkpoint":                "configs/problem data/regular train/safetensors",
	"train/checkpoint/checkpointtest": "train/checkpoint",
	"train/lab":                       "configs/problem data/... kernels/... model model/block model/exec train/...",
	"train/lab/report":                "",
	"train/metrics":                   "data/regular",
	"train/optim":                     "kernels",
	"train/parity":                    "configs/problem data/batch kernels model model/exec train train/safetensors",
	"train/profile":                   "kernels model/exec",
	"train/safetensors":               "",
	"train/schedule":                  "",
	"train/stream":                    "train/metrics",
}

// never holds whatever the rows above say: packages on the left import nothing of the right.
var never = map[string]string{
	"data/...":     "model/... kernels/... train/... configs",
	"kernels/...":  "model/... data/... train/... configs/...",
	"model/...":    "train/... data/... configs",
	"model/sample": "train/... data/...",
	"train/...":    "configs",
	"...":          "cmd/...",
}

// outside says who may import which packages of other modules. Each pattern that a package of another module fits is asked for, so that
// "gonum.org/v1/gonum/graph/..." leaves gonum's other packages alone.
var outside = map[string]string{
	"gorgonia.org/gorgonia/...":                     "model/op model/graph model/exec",
	"gorgonia.org/tensor/...":                       "model/op model/graph model/exec",
	"github.com/chewxy/hm":                          "model/op model/graph model/exec",
	"gonum.org/v1/gonum/graph/...":                  "model/op model/graph model/exec",
	"gonum.org/v1/gonum/mat":                        "train/lab",
	"gonum.org/v1/gonum/stat":                       "train/lab",
	"gonum.org/v1/plot/...":                         "train/lab/report train/stream",
	"gorgonia.org/cu/...":                           "kernels/cuda",
	"go.yaml.in/yaml/v3":                            "configs",
	"github.com/agnivade/levenshtein":               "configs/problem",
	"github.com/tiktoken-go/tokenizer/codec":        "data/token",
	"google.golang.org/protobuf/encoding/protowire": "data/token",
	"github.com/gofrs/flock":                        "data/shard train/checkpoint",
	"github.com/andybalholm/brotli":                 "data/corpus",
	"github.com/klauspost/compress/...":             "data/corpus data/survey",
	"github.com/parquet-go/parquet-go/...":          "data/corpus",
	"github.com/schollz/progressbar/v3":             "train/metrics",
	"github.com/spf13/cobra":                        "cmd/prenorm",
	"github.com/spf13/pflag":                        "cmd/prenorm",
	"golang.org/x/term":                             "cmd/prenorm train/metrics",
	"golang.org/x/sys/cpu":                          "cmd/prenorm kernels/cpu",
	"golang.org/x/sys/unix":                         "kernels",
	"golang.org/x/sys/windows":                      "data/shard",
}

// rows is where to add what is missing.
const rows = "cmd/prenorm/imports_test.go"

// fits says whether a package is among the patterns.
func fits(pkg, patterns string) bool {
	return slices.ContainsFunc(strings.Fields(patterns), func(p string) bool {
		if p == "..." {
			return true
		}
		below, isTree := strings.CutSuffix(p, "/...")
		return pkg == below || isTree && strings.HasPrefix(pkg, below+"/")
	})
}

// broken lists the rules that the imports of a package break.
func broken(pkg string, imports []string) []string {
	var wrong []string
	allowed, listed := packages[pkg]
	if !listed {
		wrong = append(wrong, fmt.Sprintf("package %s has no row: say in the table packages of %s what it may import", pkg, rows))
	}
	for _, in := range imports {
		inside, isOurs := strings.CutPrefix(in, module+"/")
		switch {
		case isOurs:
			if listed && !fits(inside, allowed) {
				wrong = append(wrong, fmt.Sprintf("package %s imports %s; its row in %s allows only: %s", pkg, inside, rows, allowed))
			}
			for _, from := range slices.Sorted(maps.Keys(never)) {
				if fits(pkg, from) && fits(inside, never[from]) {
					wrong = append(wrong, fmt.Sprintf("package %s imports %s, and %s never imports %s", pkg, inside, from, never[from]))
				}
			}
		case strings.Contains(strings.Split(in, "/")[0], "."):
			wrong = append(wrong, foreign(pkg, in)...)
		}
	}
	return wrong
}

// foreign lists the rules that the import of another module's package breaks.
func foreign(pkg, in string) []string {
	var wrong []string
	known := false
	for _, pattern := range slices.Sorted(maps.Keys(outside)) {
		if fits(in, pattern) {
			known = true
			if !fits(pkg, outside[pattern]) {
				wrong = append(wrong, fmt.Sprintf("package %s imports %s, which only %s may (table outside of %s)", pkg, in, outside[pattern], rows))
			}
		}
	}
	if !known {
		wrong = append(wrong, fmt.Sprintf("package %s imports %s, which has no row: say in the table outside of %s who may import it", pkg, in, rows))
	}
	return wrong
}

// tree reads the imports of every package below root, of all systems and build tags, test files apart. Nested modules and testdata are not
// part of the program.
func tree(root string) (map[string][]string, error) {
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(file, "go.mod"))
			if file != root && (nested == nil || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(folder)
		if _, seen := found[pkg]; !seen {
			found[pkg] = nil
		}
		for _, i := range f.Imports {
			in, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if !slices.Contains(found[pkg], in) {
				found[pkg] = append(found[pkg], in)
			}
		}
		return nil
	})
	return found, err
}

// TestImports holds the tree against the tables.
func TestImports(t *testing.T) {
	found, err := tree(filepath.FromSlash("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 20 || len(found["model/exec"]) < 5 {
		t.Fatalf("only %d packages were found: the test does not see the tree", len(found))
	}
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		for _, wrong := range broken(pkg, found[pkg]) {
			t.Error(wrong)
		}
	}
}

// TestImportRules holds the tables against imports that the design forbids.
func TestImportRules(t *testing.T) {
	for _, c := range []struct{ pkg, imports, want string }{
		{"data/batch", "prenorm/model", "data/... never imports"},
		{"data/corpus", "prenorm/kernels/ref", "data/... never imports"},
		{"data/token", "prenorm/train/optim", "data/... never imports"},
		{"kernels/cpu", "gorgonia.org/gorgonia", "which only model/op model/graph model/exec may"},
		{"model", "gorgonia.org/gorgonia", "which only model/op model/graph model/exec may"},
		{"model/block", "gorgonia.org/tensor", "which only model/op model/graph model/exec may"},
		{"train", "gorgonia.org/cu", "which only kernels/cuda may"},
		{"kernels/cpu", "gorgonia.org/cu/blas", "which only kernels/cuda may"},
		{"model/sample", "prenorm/train/checkpoint", "model/sample never imports"},
		{"model/sample", "prenorm/data/token", "model/sample never imports"},
		{"train", "prenorm/configs", "train/... never imports"},
		{"train/checkpoint", "prenorm/configs", "train/... never imports"},
		{"data", "go.yaml.in/yaml/v3", "which only configs may"},
		{"train/optim", "prenorm/cmd/prenorm", "never imports cmd/..."},
		{"kernels/ref", "prenorm/model/op", "kernels/... never imports"},
		{"train/optim", "prenorm/train/schedule", "allows only: kernels"},
		{"model/later", "fmt", "package model/later has no row: say in the table packages of " + rows},
		{"configs", "gopkg.in/yaml.v2", "has no row: say in the table outside of " + rows},
	} {
		if got := strings.Join(broken(c.pkg, strings.Fields(c.imports)), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s imports %s: %q, want %q", c.pkg, c.imports, got, c.want)
		}
	}
	for pkg, imports := range map[string]string{"train": "fmt prenorm/configs/problem prenorm/data/dataset", "model/op": "gorgonia.org/gorgonia prenorm/kernels", "kernels": "fmt encoding/binary"} {
		if wrong := broken(pkg, strings.Fields(imports)); len(wrong) > 0 {
			t.Errorf("allowed imports are refused: %v", wrong)
		}
	}
}

// TestTree wants files of every build tag to be read, and test files, testdata and nested modules not to be.
func TestTree(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a.go": "package a\nimport \"fmt\"", "a/gpu.go": "//go:build gpu\npackage a\nimport \"gorgonia.org/cu\"", "a/a_test.go": "package a\nimport \"testing\"",
		"a/testdata/x.go": "package x\nimport \"os\"", "gen/go.mod": "module gen", "gen/main.go": "package main\nimport \"io\"", "b/c/c.go": "package c",
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := tree(root)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found["a"])
	if got, want := fmt.Sprint(found), "map[a:[fmt gorgonia.org/cu] b/c:[]]"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(rows))); err != nil {
		t.Errorf("the messages name a file that is not there: %v", err)
	}
}
