package batch

import (
	"testing"

	"prenorm/configs/problem/problemtest"
)

// FuzzSeek goes to any place, as a checkpoint's state may name it, in texts of any size. It is refused, or batches of the text follow from there.
func FuzzSeek(f *testing.F) {
	f.Add(100, 8, int64(0), int64(0))
	f.Add(9, 8, int64(1)<<62, int64(0))
	f.Add(1000, 1, int64(-1), int64(5))
	f.Add(17, 16, int64(3), int64(1)<<62)
	f.Fuzz(func(t *testing.T, n, context int, epoch, window int64) {
		context = 1 + int(uint(context)%64)
		ids := make(IDs, uint(n)%5000)
		for i := range ids {
			ids[i] = int32(i)
		}
		l, err := NewLoader(ids, 3, context, 7)
		if err != nil {
			problemtest.Says(t, err, "too short")
			return
		}
		if err := l.Seek(Cursor{Epoch: epoch, Window: window}); err != nil {
			problemtest.Says(t, err, "cannot continue at window")
			return
		}
		var b Batch
		problemtest.Bounded(t, len(ids), 8, func() {
			for range 3 {
				if err := l.Next(&b); err != nil {
					t.Fatal(err)
				}
			}
		})
		for i, id := range b.Inputs {
			if b.Targets[i] != id+1 {
				t.Fatalf("after %d comes %d", id, b.Targets[i])
			}
		}
	})
}
