//go:build gpu

package cuda

import "fmt"

// cut is how the work of a product is divided: into tiles of C, and k into slices of a length, whose sums lie in workspace until they are
// added in order. It follows from the sizes alone, so that every device gives the same sums and the workspace is known before there is memory.
type cut struct{ tile, slices, length int }

// fewRows is up to how many rows a product by a transposed matrix is bound by reading that matrix once, as when text is sampled.
const fewRows = 8

// cut takes large tiles where they, or slices of them, keep a GPU of about a hundred multiprocessors busy. A slice costs writing and reading
// C once more in float32, so it has to be long.
func (p *product) cut() cut {
	if p.few() {
		return cut{0, 1, p.k}
	}
	tiles := func(tile int) int { return max(1, ceil(p.m, tile)*ceil(p.n, tile)) }
	slices := func(tiles, shortest int) int {
		if p.whole {
			return 1
		}
		return max(1, min(192/tiles, p.k/shortest, 16))
	}
	c := cut{tile: 128, slices: slices(tiles(128), 512)}
	if p.call.TransA && p.call.TransB || tiles(128)*c.slices < 96 { // there is no large tile for both transposed, which training does not use
		c = cut{tile: 64, slices: slices(tiles(64), 256)}
	}
	const step = 32 // a multiple of the depth of every kernel's tiles
	c.length = max(step, ceil(ceil(p.k, c.slices), step)*step)
	c.slices = max(1, ceil(p.k, c.length))
	return c
}

// few says whether the kernel for few rows takes the product. In tf32 it is exact float32 all the same: it waits for memory, not for arithmetic.
func (p *product) few() bool {
	return !p.narrow && !p.whole && p.m <= fewRows && !p.call.TransA && p.call.TransB
}

// way is the kernel that a product takes.
type way struct {
	cut
	module        *module
	name          string
	block, shared int
	vector        int // bit 0: A is aligned for copies of 16 bytes, bit 1: B is
}

// way chooses by sizes and alignment. Of kernels with tensor cores only the small tile can copy operands that are not aligned; it gives the
// sums of the large one.
func (p *product) way() way {
	w := way{cut: p.cut(), module: matmuls, block: 256, vector: bit(rowsAligned(p.a, p.lda, p.narrow)) | bit(rowsAligned(p.b, p.ldb, p.narrow))<<1}
	if w.tile == 0 {
		rows := 1
		for rows < p.m {
			rows = min(8, 4*rows)
		}
		w.name = fmt.Sprint("matmul_few_", rows)
		return w
	}
	family := "matmul"
	if p.narrow || p.tf32 {
		w.module, family = matmulsTF32, "matmul_tf32"
		if p.narrow {
			w.module, family = matmulsBF16, "matmul_bf16"
		}
		if w.vector != 3 {
			w.tile = 64
		}
		w.block, w.shared = 128, stageBytes*stages*w.tile
	}
	w.name = fmt.Sprintf("%s_%s%s_%d", family, letter(p.call.TransA), letter(p.call.TransB), w.tile)
	return w
}

// The kernels with tensor cores hold three stages, each of 64 bytes of k of a tile's rows of A and of its columns of B. That of the large tile
// is 48 KiB, so that a multiprocessor of any GPU from sm_80 on holds two blocks.
const (
	stages     = 3
	stageBytes = 2 * 64
)

// rowsAligned says whether every row of an operand begins at a multiple of 16 bytes.
func rowsAligned(at uintptr, ld int, narrow bool) bool {
	size := 4
	if narrow {
		size = 2
	}
	return at%16 == 0 && ld*size%16 == 0
}

func letter(trans bool) string {
	if trans {
		return "t"
	}
	return "n"
}
