package kernels

import (
	"strings"
	"testing"
)

// TestCheckIndependent has two calls share memory in each way that there is, or in part.
func TestCheckIndependent(t *testing.T) {
	memory := make([]float32, 64)
	at := func(i, n int) []View { return []View{HostView(memory[i:i+n], n)} }
	first := Args{Out: at(0, 4), Aux: at(4, 4), In: at(8, 4), Saved: at(12, 4), Work: at(16, 4)[0]}
	for name, c := range map[string]struct {
		second Args
		refuse bool
	}{
		"apart":                      {Args{Out: at(20, 4), Aux: at(24, 4), In: at(28, 4), Saved: at(32, 4), Work: at(36, 4)[0]}, false},
		"one input":                  {Args{Out: at(20, 4), In: at(8, 4), Saved: at(12, 4)}, false},
		"one is the other's input":   {Args{Out: at(20, 4), In: at(0, 4)}, true},
		"a part of it":               {Args{Out: at(20, 4), In: at(3, 1)}, true},
		"it is overwritten":          {Args{Out: at(8, 4), In: at(20, 4)}, true},
		"one output":                 {Args{Out: at(0, 4), In: at(20, 4)}, true},
		"outputs that overlap":       {Args{Out: at(2, 4), In: at(20, 4)}, true},
		"one workspace":              {Args{Out: at(20, 4), Work: at(16, 4)[0]}, true},
		"a statistic is read":        {Args{Out: at(20, 4), Saved: at(4, 4)}, true},
		"a statistic is overwritten": {Args{Out: at(20, 4), Aux: at(12, 4)}, true},
		"nothing in common, or none": {Args{Out: at(0, 0), In: at(4, 0)}, false},
	} {
		for _, calls := range [][]BoundCall{{{Add{}, first}, {Scale{}, c.second}}, {{Scale{}, c.second}, {Fill{}, Args{Out: at(40, 4)}}, {Add{}, first}}} {
			err := CheckIndependent(calls)
			if (err != nil) != c.refuse || err != nil && !(strings.Contains(err.Error(), "add") && strings.Contains(err.Error(), "scale")) {
				t.Errorf("%s: error %v", name, err)
			}
		}
	}
}
