//go:build unix

package shard

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestStartsOfAPipe has a pipe in the place of the starts, whose opening would wait for ever.
func TestStartsOfAPipe(t *testing.T) {
	r := openShard(t, some(300, 300))
	if err := startsOf(t, r, 0, 7); err != nil {
		t.Fatal(err)
	}
	path := StartsPath(r.Name())
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 1)
	go func() {
		_, err := OpenStarts(r)
		refused <- err
	}()
	select {
	case err := <-refused:
		if err == nil || !strings.Contains(err.Error(), "no regular file") {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for somebody to write")
	}
}
