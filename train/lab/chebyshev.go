package lab

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Recovery finds the coefficients of a polynomial of known degree from its values at Chebyshev nodes on [-1, 1].
type Recovery struct {
	Nodes     []float64
	Condition float64    // of the map from coefficients to values: what rounding errors of values are multiplied by at worst
	matrix    *mat.Dense // coefficients from values
}

// NewRecovery makes the recovery of polynomials of a degree. Values are first turned into coefficients of Chebyshev polynomials, which loses
// nothing, as these are orthogonal over the nodes; only the change to powers of t is ill-conditioned, by about (1+sqrt 2)^degree.
func NewRecovery(degree int) Recovery {
	m := degree + 1
	r := Recovery{Nodes: make([]float64, m), matrix: mat.NewDense(m, m, nil)}
	powers := mat.NewDense(m, m, nil)
	for j := range m {
		r.Nodes[j] = math.Cos(math.Pi * (float64(j) + 0.5) / float64(m))
		if 2*j+1 == m {
			r.Nodes[j] = 0 // exactly
		}
		for k := range m {
			powers.Set(j, k, math.Pow(r.Nodes[j], float64(k)))
		}
	}
	r.Condition = mat.Cond(powers, 2)
	for n, polynomial := range chebyshev(degree) {
		for j := range m {
			weight := 2 / float64(m) * math.Cos(float64(n)*math.Pi*(float64(j)+0.5)/float64(m))
			if n == 0 {
				weight /= 2
			}
			for k, c := range polynomial {
				r.matrix.Set(k, j, r.matrix.At(k, j)+c*weight)
			}
		}
	}
	return r
}

// chebyshev are the Chebyshev polynomials up to a degree by their powers: T_0 = 1, T_1 = t, T_(n+1) = 2t T_n - T_(n-1).
func chebyshev(degree int) [][]float64 {
	all := [][]float64{{1}, {0, 1}}
	for n := 2; n <= degree; n++ {
		next := make([]float64, n+1)
		for k, c := range all[n-1] {
			next[k+1] += 2 * c
		}
		for k, c := range all[n-2] {
			next[k] -= c
		}
		all = append(all, next)
	}
	return all[:degree+1]
}

// Coefficients turns values at the nodes, each a vector, into the coefficients of t^0, t^1, …
func (r Recovery) Coefficients(values [][]float64) [][]float64 {
	all := make([][]float64, len(r.Nodes))
	for k := range all {
		all[k] = make([]float64, len(values[0]))
		for j, v := range values {
			w := r.matrix.At(k, j)
			for i, x := range v {
				all[k][i] += w * x
			}
		}
	}
	return all
}
