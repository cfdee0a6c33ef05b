//go:build gpu

package cuda

import (
	"errors"

	"prenorm/kernels"
)

func init() {
	kernels.RegisterPlanner("cuda", func(o kernels.Options) (kernels.Backend, error) {
		precision, err := checkPrecision(o.Precision)
		if err != nil {
			return nil, err
		}
		return planner{precision}, nil
	})
}

// planner plans for a GPU without one: workspaces follow from shapes and types alone.
type planner struct{ precision kernels.Precision }

var errPlanning = errors.New("cuda: this backend is for planning only, and has no device")

func (p planner) Precision() kernels.Precision { return p.precision }
func (p planner) Name() string                 { return "cuda" }
func (p planner) Device() string               { return "a GPU that is planned for" }

// Workspace is that of [Backend].
func (p planner) Workspace(c kernels.Call, a kernels.Args) (int, error) {
	return (&Backend{precision: p.precision}).Workspace(c, a)
}

func (p planner) NewArena(int) (kernels.Arena, error)                     { return nil, errPlanning }
func (p planner) Bind(kernels.Call, kernels.Args) (kernels.Launch, error) { return nil, errPlanning }
func (p planner) Upload(kernels.View, any) error                          { return errPlanning }
func (p planner) Download(any, kernels.View) error                        { return errPlanning }
func (p planner) Sync() error                                             { return errPlanning }
func (p planner) Close() error                                            { return nil }
