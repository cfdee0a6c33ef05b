//go:build gpu

package train

import (
	"os"
	"testing"

	"prenorm/kernels"
	_ "prenorm/kernels/cuda"
)

// TestDocumentsOnGPU needs a GPU or the software driver.
func TestDocumentsOnGPU(t *testing.T) {
	be, err := kernels.Open("cuda", kernels.Options{MatMul: "own"})
	if err != nil {
		if os.Getenv("PRENORM_LIBCUDA") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	defer be.Close()
	checkDocuments(t, be)
}
