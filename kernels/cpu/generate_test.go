package cpu

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// generated are the files that the generator writes, its sums apart.
func generated(t *testing.T) []string {
	assembly, err := filepath.Glob("*_amd64.s")
	if err != nil || len(assembly) == 0 {
		t.Fatalf("no assembly here: %v", err)
	}
	var all []string
	for _, path := range assembly {
		all = append(all, strings.TrimSuffix(path, "s")+"go", path)
	}
	return all
}

// sums is the text of gen.sum for the generator's sources and the generated files as they are.
func sums(t *testing.T) string {
	sources, err := filepath.Glob("gen/*.go")
	if err != nil {
		t.Fatal(err)
	}
	sources = append(sources, "gen/go.mod", "gen/go.sum")
	slices.Sort(sources)
	var text strings.Builder
	for _, name := range append(sources, generated(t)...) {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), filepath.ToSlash(name))
	}
	return text.String()
}

// TestGenerated writes the assembly again and wants the committed files. Outside of CI it does so only when a file is not the one that the
// generator read or wrote last: building the generator takes longer than all other tests together.
func TestGenerated(t *testing.T) {
	ci := os.Getenv("CI") == "true"
	if last, err := os.ReadFile("gen.sum"); err == nil && string(last) == sums(t) && !ci {
		return
	}
	dir := t.TempDir()
	generator := filepath.Join(dir, "generator.exe")
	build := exec.Command("go", "build", "-o", generator, ".")
	build.Dir = "gen"
	if out, err := build.CombinedOutput(); err != nil {
		if ci {
			t.Fatalf("the generator cannot be built: %v\n%s", err, out)
		}
		t.Skipf("the generator cannot be built, so whether the assembly is what it writes is NOT checked: %v\n%s", err, out)
	}
	if out, err := exec.Command(generator, dir).CombinedOutput(); err != nil {
		t.Fatalf("the generator failed: %v\n%s", err, out)
	}
	for _, name := range append(generated(t), "gen.sum") {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes (error %v): run go generate ./kernels/cpu", name, err)
		}
	}
}
