// Package problemtest is what tests ask of whoever reads bytes that may come from anywhere.
package problemtest

import (
	"runtime/metrics"
	"strings"
	"testing"
)

// slack is what the test itself and what runs beside it may allocate, in bytes.
const slack = 4 << 20

// Bounded runs read on an input of some bytes and fails the test where it allocated more than factor bytes for each, beyond a little: a size
// that an input only claims must not be allocated.
func Bounded(t testing.TB, input, factor int, read func()) {
	t.Helper()
	before := allocated()
	read()
	if now := allocated(); now-before > uint64(input)*uint64(factor)+slack {
		t.Errorf("an input of %d bytes made it allocate %d", input, now-before)
	}
}

// allocated is how many bytes this process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Says fails the test where an error does not name what it is about.
func Says(t testing.TB, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error %q does not say %q", err, w)
		}
	}
}
