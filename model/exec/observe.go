package exec

import (
	"sort"

	G "gorgonia.org/gorgonia"
)

// advance moves what only [Spec.Observed] needs to the place right after its last operand, so that values are looked at while they are in
// memory and need not be kept. All else stays in its order.
func (p *Plan) advance(order []*G.Node) []*G.Node {
	if len(p.spec.Observed) == 0 {
		return order
	}
	needed := p.needed()
	place := make(map[*G.Node]int64, len(order))
	for _, n := range order {
		place[n] = n.ID()
		if needed[n] {
			continue
		}
		place[n] = 0
		for _, c := range children(n) {
			place[n] = max(place[n], place[c])
		}
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := order[i], order[j]
		if place[a] != place[b] {
			return place[a] < place[b]
		}
		return a.ID() < b.ID()
	})
	return order
}

// needed are the nodes that the program has to compute even if nothing is observed.
func (p *Plan) needed() map[*G.Node]bool {
	observed := make(map[*G.Node]bool, len(p.spec.Observed))
	for _, o := range p.spec.Observed {
		observed[o.Node] = true
	}
	seen := map[*G.Node]bool{}
	var visit func(n *G.Node)
	visit = func(n *G.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, c := range children(n) {
			visit(c)
		}
	}
	for _, list := range [][]Named{p.spec.Outputs, p.spec.Into} {
		for _, o := range list {
			if !observed[o.Node] {
				visit(o.Node)
			}
		}
	}
	return seen
}
