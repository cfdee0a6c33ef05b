package checkpoint

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the test program stand for a second process: with the variable set it takes the lock and holds it until its input ends.
func TestMain(m *testing.M) {
	dir := os.Getenv("CHECKPOINT_TEST_LOCK")
	if dir == "" {
		os.Exit(m.Run())
	}
	_, err := Lock(dir)
	fmt.Println(err)
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0) // without Unlock, as a process that is killed
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), "CHECKPOINT_TEST_LOCK="+dir)
	stdin, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "<nil>\n" {
		t.Fatalf("the other process: %q, %v", line, err)
	}
	want := fmt.Sprintf("is in use by process %d", other.Process.Pid)
	if _, err := Lock(dir); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Lock: %v, want %q", err, want)
	}
	if err := os.Remove(filepath.Join(dir, "run.pid")); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("Lock without a process number: %v", err)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := other.Wait(); err != nil {
		t.Fatal(err)
	}
	l, err := Lock(dir)
	if err != nil {
		t.Fatalf("the holder is gone: %v", err)
	}
	if l.AfterKill() { // its number was removed above
		t.Error("nobody is known to have been killed")
	}
	if _, err := Lock(dir); err == nil || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("locked twice in one process: %v", err)
	}
	for range 2 {
		if err := l.Unlock(); err != nil {
			t.Error(err)
		}
	}
	for _, left := range []bool{false, true, false} {
		if left {
			if err := os.WriteFile(filepath.Join(dir, "run.pid"), []byte("1\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if l, err = Lock(dir); err != nil {
			t.Fatal(err)
		}
		if l.AfterKill() != left {
			t.Errorf("a number was left: %v, and the holder before was killed: %v", left, l.AfterKill())
		}
		if err := l.Unlock(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Lock(filepath.Join(dir, "absent")); err == nil {
		t.Error("a folder that does not exist was locked")
	}
}
