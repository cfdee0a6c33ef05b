//go:build gpu

package cuda

import (
	"fmt"

	"gorgonia.org/cu"
)

// FreeMemory implements [kernels.Limited].
func (b *Backend) FreeMemory() (free int64, err error) {
	err = b.device.do(func() (err error) {
		free, _, err = cu.MemInfo()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cuda: cuMemGetInfo: %w", err)
	}
	return free, nil
}
