//go:build gpu

package cuda

import (
	"errors"
	"testing"

	"prenorm/kernels"
)

// TestPlanner wants workspaces without a device, and an error for all that needs one.
func TestPlanner(t *testing.T) {
	be, known, err := kernels.OpenPlanner("cuda", kernels.Options{Precision: kernels.PrecisionBF16})
	if err != nil || !known || kernels.PrecisionOf(be) != kernels.PrecisionBF16 || !kernels.OnDevice(be) {
		t.Fatalf("planner %v, %v, %v", be, known, err)
	}
	a := kernels.Args{Out: []kernels.View{kernels.Shaped(kernels.F32, 1)}, In: []kernels.View{kernels.Shaped(kernels.F32, 1<<20)}}
	if n, err := be.Workspace(kernels.GlobalNorm{}, a); err != nil || n == 0 {
		t.Errorf("a norm wants %d bytes, %v", n, err)
	}
	if _, err := be.Workspace(kernels.GlobalNorm{}, kernels.Args{}); err == nil {
		t.Error("a norm of nothing is planned")
	}
	_, arena := be.NewArena(64)
	_, bind := be.Bind(kernels.GlobalNorm{}, a)
	for what, err := range map[string]error{"NewArena": arena, "Bind": bind, "Upload": be.Upload(a.Out[0], nil), "Download": be.Download(nil, a.Out[0]), "Sync": be.Sync()} {
		if !errors.Is(err, errPlanning) {
			t.Errorf("%s returns %v", what, err)
		}
	}
	if err := be.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := kernels.OpenPlanner("cuda", kernels.Options{Precision: "fp8"}); err == nil {
		t.Error("an unknown precision is planned for")
	}
}
