//go:build gpu

package cuda

import (
	"os"
	"testing"
)

// needDevice skips a test where there is no driver; where PRENORM_LIBCUDA names one, a missing device is a failure.
func needDevice(t *testing.T) {
	t.Helper()
	if err := available(); err != nil {
		if os.Getenv("PRENORM_LIBCUDA") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}
