package cpu

// ahead is memory that is packed next, in rows of some cache lines. Tiles ask for it a part at a time, so that it comes while they multiply: from
// memory packing would take several times as long.
type ahead struct {
	x              []float32
	ld, rows, n    int // rows of n floats
	row, col, each int // where the next part begins, and how many rows it has at most
}

// pair are the floats in each row that a tile asks for: two cache lines.
const pair = 2 * line / 4

// aheadOf is n floats of each of so many rows, ld apart, to be asked for in so many parts.
func aheadOf(x []float32, ld, n, rows, parts int) ahead {
	return ahead{x: x, ld: ld, rows: rows, n: n, each: blocks(blocks(n, pair)*rows, max(parts, 1))}
}

// part is what the next tile asks for: a pair of lines in each of so many rows.
func (a *ahead) part() (next *float32, ld, rows int) {
	if a == nil || a.col >= a.n || a.rows == 0 {
		return nil, 0, 0
	}
	next, rows = &a.x[a.row*a.ld+a.col], min(a.each, a.rows-a.row)
	if a.row += rows; a.row == a.rows {
		a.row, a.col = 0, a.col+pair
	}
	return next, a.ld, rows
}
