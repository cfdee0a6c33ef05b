package exec

import (
	"fmt"
	"slices"
	"strings"

	"prenorm/kernels"
)

// joinPass is the name of the pass that puts steps side by side.
const joinPass = "join"

// group is a run of neighbouring steps, from … end-1, that have one launch.
type group struct{ from, end int }

// join divides the steps into groups: a step joins those before it where none of them writes what another reads or writes. Values and workspaces of
// a group lie apart in the arena, see [Plan.lifetimes].
func (p *Plan) join() {
	joiner, ok := p.be.(kernels.Joiner)
	ok = ok && !slices.Contains(p.spec.Without, joinPass)
	open := false // whether the last group takes more
	for i, s := range p.steps {
		joins := ok && joiner.Joins(s.call, s.shapes())
		if last := len(p.groups) - 1; open && joins && p.independent(p.groups[last], s) {
			p.groups[last].end++
		} else {
			p.groups = append(p.groups, group{i, i + 1})
		}
		open = joins
	}
}

// independent says whether a step and those of a group can run in any order.
func (p *Plan) independent(g group, s step) bool {
	return !slices.ContainsFunc(p.steps[g.from:g.end], func(other step) bool {
		return meet(s.writes(), other.reads()) || meet(s.writes(), other.writes()) || meet(s.reads(), other.writes())
	})
}

// bindGroups makes the launches of the groups from those of the steps.
func (g *Program) bindGroups() error {
	for _, of := range g.plan.groups {
		l, err := g.bindGroup(of)
		if err != nil {
			return fmt.Errorf("%s: %w", g.plan.pathsOf(of), err)
		}
		g.groups = append(g.groups, l)
	}
	return nil
}

// bindGroup makes the launch of a group. Where the caller gave the same memory under several names, so that steps are not independent after all, they
// run one after the other.
func (g *Program) bindGroup(of group) (kernels.Launch, error) {
	launches := g.launches[of.from:of.end]
	if len(launches) == 1 {
		return launches[0], nil
	}
	var calls []kernels.BoundCall
	for i := of.from; i < of.end; i++ {
		calls = append(calls, kernels.BoundCall{Call: g.plan.steps[i].call, Args: g.args[i]})
	}
	if kernels.CheckIndependent(calls) == nil {
		return g.plan.be.(kernels.Joiner).BindJoint(calls)
	}
	return func() error {
		for _, l := range launches {
			if err := l(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// pathsOf are the paths of a group's steps.
func (p *Plan) pathsOf(g group) string {
	var paths []string
	for _, s := range p.steps[g.from:g.end] {
		paths = append(paths, s.path)
	}
	return strings.Join(paths, ", ")
}
