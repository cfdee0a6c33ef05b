package cpu

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"prenorm/kernels"
)

// TestEmbedGradOrder wants the bits of the rows that a token has, added in the order of their places: many places of few tokens, of which some
// have none.
func TestEmbedGradOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for _, s := range [][3]int{{3000, 3, 70}, {2000, 40, embedStripe + 33}, {500, 1, 5}} {
		places, vocab, width := s[0], s[1], s[2]
		tokens, dy := ids(r, places, vocab), noise(r, places, width)
		want := make([]float32, (vocab+9)*width)
		for i, token := range tokens.I32() {
			for j, v := range dy.F32()[i*width:][:width] {
				want[int(token)*width+j] += v
			}
		}
		everyBackend(t, func(t *testing.T, b *Backend) {
			got := result(t, b, kernels.EmbedGrad{Vocab: vocab + 9}, tokens, dy)
			if !bytes.Equal(got.Host, kernels.HostView(want, vocab+9, width).Host) {
				t.Errorf("%d places of %d tokens, width %d, %d workers, far from %d bytes on: other bits than rows added in order", places, vocab, width, b.workers(), b.farBytes)
			}
		})
	}
}
