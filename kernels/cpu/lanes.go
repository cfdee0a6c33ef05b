package cpu

// lanes gives items that each need their own workspace a fixed number of places to work in: lane l treats its share of the items one after
// the other. How many there are depends on shapes alone.
type lanes struct{ count, items int }

// Bounds on lanes: more than maxLanes would be idle on most machines, fewer than minLanes would leave cores without work, and between the
// two they take no more than laneFloats.
const (
	minLanes   = 8
	maxLanes   = 64
	laneFloats = 4 << 20
)

// planLanes chooses how many lanes of the given size treat the items.
func planLanes(items, floats int) lanes {
	n := min(maxLanes, max(minLanes, laneFloats/max(floats, 1)))
	return lanes{count: min(n, items), items: items}
}

// loop runs fn for every item, each of which takes about ns nanoseconds.
func (l lanes) loop(ns float64, fn func(lane, item int)) *loop {
	return newLoop(l.count, ns*float64(l.items)/float64(max(l.count, 1)), func(lane int) {
		for item := lane * l.items / l.count; item < l.end(lane); item++ {
			fn(lane, item)
		}
	})
}

// end is the item after a lane's last.
func (l lanes) end(lane int) int { return (lane + 1) * l.items / l.count }

// part is the lane's share of a piece of workspace.
func (l lanes) part(x []float32, lane int) []float32 {
	n := len(x) / l.count
	return x[lane*n:][:n]
}
