package kernels

import (
	"fmt"
	"slices"
)

// BoundCall is a call with the memory that it reads and writes.
type BoundCall struct {
	Call Call
	Args Args
}

// Joiner is implemented by backends on which short calls cost more one after the other than side by side.
type Joiner interface {
	// Joins says whether a call can be part of a joint launch and, with views of these shapes, gains by it. It reads only shapes and types.
	Joins(c Call, a Args) bool
	// BindJoint is [Backend.Bind] for several calls that [CheckIndependent] accepts: their launch runs them side by side. They come to write
	// the bits that they write one after the other.
	BindJoint(calls []BoundCall) (Launch, error)
}

// CheckIndependent wants no call to write memory that another reads or writes, workspaces included: then their order makes no difference, and
// neither does running them at the same time. Every view must have its memory.
func CheckIndependent(calls []BoundCall) error {
	for i, a := range calls {
		for _, b := range calls[:i] {
			if meet(a.Args.writes(), b.Args.touches()) || meet(b.Args.writes(), a.Args.touches()) {
				return fmt.Errorf("%s and %s cannot run at the same time: one of them writes memory that the other reads or writes", b.Call.Kernel(), a.Call.Kernel())
			}
		}
	}
	return nil
}

// writes are the views that a call changes.
func (a Args) writes() []View { return slices.Concat(a.Out, a.Aux, []View{a.Work}) }

// touches are all views of a call.
func (a Args) touches() []View { return slices.Concat(a.writes(), a.In, a.Saved) }

// meet says whether a view of one list shares memory with a view of another.
func meet(a, b []View) bool {
	return slices.ContainsFunc(a, func(v View) bool {
		return slices.ContainsFunc(b, func(w View) bool { return overlap(v, w) })
	})
}
