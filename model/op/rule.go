package op

import (
	G "gorgonia.org/gorgonia"

	"prenorm/kernels"
)

// rule says how a call is differentiated.
type rule struct {
	wrt  []bool // which inputs have a gradient
	grad func(a application) (G.Nodes, error)
}

// application is one node to be differentiated.
type application struct {
	path string // of the gradient nodes
	call kernels.Call
	in   G.Nodes
	out  *G.Node
	grad *G.Node // gradient of out
}

// multi adds a backward call that yields several gradients at once.
func (a application) multi(call kernels.Call, in ...*G.Node) (G.Nodes, error) {
	return applySaved(a.path, call, a.out, in...)
}

// one adds a call that yields one gradient; name tells the gradients of a node apart.
func (a application) one(name string, call kernels.Call, in ...*G.Node) (*G.Node, error) {
	if name != "" {
		name = "." + name
	}
	return Apply(a.path+name, call, in...)
}

var rules = map[string]rule{}

// register adds the gradient rule of a call. It is called from init functions and panics when the call has one.
func register(call kernels.Call, wrt []bool, grad func(a application) (G.Nodes, error)) {
	name := call.Kernel()
	if _, taken := rules[name]; taken {
		panic("op: gradient registered twice: " + name)
	}
	rules[name] = rule{wrt, grad}
}

// Differentiable lists the kernels that have a gradient rule.
func Differentiable() []string {
	names := make([]string, 0, len(rules))
	for n := range rules {
		names = append(names, n)
	}
	return names
}
