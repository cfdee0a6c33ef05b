package cpu

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGenerated writes the assembly again and wants the committed files.
func TestGenerated(t *testing.T) {
	dir := t.TempDir()
	generator := filepath.Join(dir, "generator.exe")
	build := exec.Command("go", "build", "-o", generator, ".")
	build.Dir = "gen"
	if out, err := build.CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the generator cannot be built: %v\n%s", err, out)
		}
		t.Skipf("the generator cannot be built, so whether the assembly is what it writes is NOT checked: %v\n%s", err, out)
	}
	if out, err := exec.Command(generator, dir).CombinedOutput(); err != nil {
		t.Fatalf("the generator failed: %v\n%s", err, out)
	}
	committed, err := filepath.Glob("*_amd64.s")
	if err != nil || len(committed) == 0 {
		t.Fatalf("no assembly here: %v", err)
	}
	for _, path := range committed {
		for _, name := range []string{path, path[:len(path)-1] + "go"} {
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
}
