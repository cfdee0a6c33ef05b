package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of so many KiB at the folder disk, for a test.
func smallDisk(t *testing.T, kib int) {
	t.Helper()
	must(os.Mkdir("disk", 0o755))
	if err := syscall.Mount("tmpfs", "disk", "tmpfs", 0, fmt.Sprintf("size=%dk", kib)); err != nil {
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
			if slow() { // of all tests, this one may not be left out
				t.Fatalf("PRENORM_SLOW needs small disks, which only a system's administrator can mount here: %v", err)
			}
			t.Skipf("only a system's administrator can mount a small disk here: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(syscall.Unmount("disk", syscall.MNT_DETACH), os.Remove("disk")); err != nil {
			t.Error(err)
		}
	})
}

// remount changes the disk.
func remount(t *testing.T, flags uintptr, options string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", "disk", "tmpfs", syscall.MS_REMOUNT|flags, options); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk trains on disks that are too small by more and more, until each is full: the error says so, every checkpoint that is there is
// whole, and on a larger disk the run goes on and ends as it would have.
func TestFullDisk(t *testing.T) {
	sizes := []int{180, 420}
	if slow() {
		sizes = nil
		for kib := 140; kib < 700; kib += 20 {
			sizes = append(sizes, kib)
		}
	}
	for _, kib := range sizes {
		t.Run(fmt.Sprint(kib, " KiB"), func(t *testing.T) {
			inTiny(t)
			uninterrupted(t)
			withMachine(t, 1<<33, -1) // a start on a disk that is known to be too small is refused
			smallDisk(t, kib)
			all := []string{"train", "tiny.yaml", "--out", "disk/run", "--set", "checkpoint={every: 1, keep: 0, background: always}", "--set", "data.cache=cache"}
			r := command(all...).want(t, exitFailure, "no space left on device")
			if strings.Contains(r.out, "done: ") {
				t.Fatalf("the disk was large enough\n%s", r.out)
			}
			before := newestOf(t, "disk/run")
			remount(t, 0, "size=64m")
			if r := command(all...).want(t, exitOK, "done: step 20"); before >= 0 && !strings.Contains(r.out, fmt.Sprintf("resumed from step %d of 20", before)) {
				t.Errorf("the newest checkpoint was of step %d\n%s", before, r.out)
			}
			command("verify", "disk/run").want(t, exitOK)
			same(t, "whole", "disk/run")
		})
	}
	t.Logf("%d disks", len(sizes))
}

// TestReadOnlyDisk goes on with a run whose disk cannot be written to: an error says so, nothing has changed, and it goes on once it can.
func TestReadOnlyDisk(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	smallDisk(t, 8<<10)
	command("train", "tiny.yaml", "--out", "disk/run", "--max-step", "10").want(t, exitOK)
	remount(t, syscall.MS_RDONLY, "")
	command("train", "tiny.yaml", "--out", "disk/run").want(t, exitFailure, "read-only file system: a run is written to: make disk/run writable, or copy it")
	for _, more := range [][]string{nil, {"--dry-run"}, {"--fresh"}} {
		command(append([]string{"train", "tiny.yaml", "--out", "disk/another"}, more...)...).want(t, exitFailure, "read-only file system: name a folder that can be written to with --out")
	}
	command("verify", "disk/run").want(t, exitOK)
	remount(t, 0, "")
	command("train", "tiny.yaml", "--out", "disk/run").want(t, exitOK, "resumed from step 10 of 20")
	same(t, "whole", "disk/run")
}
