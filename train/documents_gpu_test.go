//go:build gpu

package train

import (
	"testing"

	"prenorm/kernels"
)

// TestDocumentsOnGPU needs a GPU or the software driver.
func TestDocumentsOnGPU(t *testing.T) {
	be := openGPU(t, kernels.Options{MatMul: "own"})
	defer be.Close()
	checkDocuments(t, be)
}
