package cpu

import (
	"fmt"
	"os"
	"strings"
)

// tier is one level of instructions. The vector tiers of a machine give the same bits; the portable one rounds products and sums apart where
// the compiler does not fuse them.
type tier struct {
	name string
	vectors
	far   *vectors // for calls whose memory no cache holds, nil where those are the same
	fence func()   // after which others may read what far has written

	// A tile of a product has up to rows rows and cols columns. The functions are indexed by the number of rows, from 1; A lies in rows of K
	// elements for inRows, in columns for inColumns.
	rows, cols         int
	inRows, inColumns  []tileFunc
	masked             bool // tiles read no more than n columns of B
	packTurn, packCopy packFunc
	dots               dotsFunc
	fetch              func(x *float32, ld, n, rows int) // into the second cache, without waiting; rows >= 1
	packed             [2]packedFunc                     // by [kernels.Packing]
	widenHalves        func(y []float32, w *byte)        // of a packed row; lengths are multiples of [kernels.PackRun]
	expand             expandFunc
	widenStrided       func(y []float32, ldy int, x []uint16, ldx, n, rows int) // y = x, which is bfloat16, for rows of n elements; neither is 0
	weigh              func(y, s *float32, x *uint16, ldx, n, rows, add int)    // y = or += the sum of s[p] times row p of x, which is bfloat16; n is a multiple of 16, nil = there is none
	multiplyAdds       func(n int)                                              // n times the rows*cols multiply-adds of one step of a tile, at the speed that the tier has at most; n >= 1
}

// tileFunc is C[r,n] = A[r,k] B[k,n] for at least one k and n: one chain of k multiply-adds for each element, from 0. To it are added from[r,n],
// bias[n] and residual[r,n], in this order and unless they are nil; from and residual may be C. A's rows, or its columns, are lda apart, B's rows
// are ldb apart and hold cols elements unless the tier is masked, those of C and from are ldc apart, and those of the residual ldr. Meanwhile the tile
// may ask for memory that is read later: two cache lines at next, ldn elements further, and so on, as many as there are fetches.
type tileFunc func(k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc, n int, from, bias, residual *float32, ldr int, next *float32, ldn, fetches int)

// packFunc fills one panel of width w: dst[p*w+i] is element i, p of n x k elements in src, with rows of n that are ld apart for packCopy and
// rows of k for packTurn. The panel's padding, and in each step what is past n, may be written.
type packFunc func(dst []float32, w int, src []float32, ld, n, k int)

// dotsFunc is y[j] = x · w[j], or y += with add other than 0, for n rows w of k elements that are ldw apart. Every sum is taken in the same
// fixed order.
type dotsFunc func(y, x, w *float32, ldw, k, n, add int)

// portable is the tier in plain Go.
var portable = &tier{name: "go", rows: 4, cols: 4, inRows: goTiles(true), inColumns: goTiles(false), masked: true,
	packTurn: packTurnGo, packCopy: packCopyGo, dots: dotsGo, fetch: func(*float32, int, int, int) {}, packed: [2]packedFunc{dotsHalvesGo, dotsBytesGo}, widenHalves: widenRowGo, expand: expandGo, widenStrided: widenRowsGo, multiplyAdds: multiplyAddsGo, vectors: portableVectors}

// tiers lists what this machine can run, the best first.
func tiers() []*tier { return append(vectorTiers(), portable) }

// tierVariable is the environment variable that overrides the choice of the tier.
const tierVariable = "PRENORM_CPU"

// chooseTier returns the named tier, or the best one for an empty name.
func chooseTier(name string) (*tier, error) {
	all := tiers()
	if name == "" {
		return all[0], nil
	}
	var names []string
	for _, t := range all {
		if t.name == name {
			return t, nil
		}
		names = append(names, t.name)
	}
	return nil, fmt.Errorf("cpu: %s=%s: this machine has %s (leave the variable empty for the best)", tierVariable, name, strings.Join(names, ", "))
}

// startTier is the tier that the environment asks for.
func startTier() (*tier, error) { return chooseTier(os.Getenv(tierVariable)) }
