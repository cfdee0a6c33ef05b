package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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
			r := command(all...).want(t, exitFailure, "the disk is full: ", "make room on the disk of disk/run", "then go on with:\n  prenorm train tiny.yaml")
			if n := strings.Count(r.errOut, "no space left on device"); n != 1 {
				t.Errorf("the reason is told %d times:\n%s", n, r.errOut)
			}
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

// fillDisk takes all room on the disk.
func fillDisk() {
	f, err := os.Create("disk/full")
	must(err)
	for block := make([]byte, 4096); err == nil; _, err = f.Write(block) {
	}
	must(f.Close())
}

// TestDiskFills takes all room in the middle of a run, where measurements have none first, with and without a Ctrl-C, and before its start: the error
// says which steps are lost and what to do, and that works.
func TestDiskFills(t *testing.T) {
	inTiny(t)
	uninterrupted(t)
	withMachine(t, 1<<33, -1)
	smallDisk(t, 4<<10)
	all := []string{"train", "tiny.yaml", "--out", "disk/run", "--workers", "1", "--set", "data.cache=cache"}
	goOn := "go on with:\n  prenorm " + strings.Join(all, " ")
	goOn = strings.Replace(goOn, "--out disk/run --workers 1 --set data.cache=cache", "--out disk/run --set data.cache=cache --workers 1", 1)
	fillDisk()
	command(all...).want(t, exitFailure, "the disk is full: ", "nothing was trained", "make room on the disk of disk/run, then", goOn)
	command(append(all, "--dry-run")...).want(t, exitFailure, "the disk is full: ", "nothing was trained")
	must(os.Remove("disk/full"))
	command(append(all, "--max-step", "6")...).want(t, exitOK)
	fillDisk()
	for _, again := range []string{" --fresh", " --from-step 6"} {
		command(append(slices.Clone(all), strings.Fields(again)...)...).want(t, exitFailure, "the disk is full: ", goOn+again)
	}
	must(os.Remove("disk/full"))
	ctx, cancel := context.WithCancel(context.Background())
	for _, c := range []struct {
		event func()
		want  string
	}{{fillDisk, " of 20 was reached, and the newest whole checkpoint is disk/run/checkpoints/step-00000006: "}, {func() { fillDisk(); cancel() }, "step 7 of 20 was reached, and the newest whole checkpoint is disk/run/checkpoints/step-00000006: 1 step is lost and"}} {
		t.Run(c.want, func(t *testing.T) {
			withKernels(t, hooked(8, c.event))
			r := commandWith(ctx, "", all...).want(t, exitFailure, c.want, "will be trained again", "make room on the disk of disk/run (a checkpoint takes ", goOn)
			if n := strings.Count(r.errOut, "no space left on device"); n != 1 {
				t.Errorf("the reason is told %d times:\n%s", n, r.errOut)
			}
			must(os.Remove("disk/full"))
		})
	}
	command(all...).want(t, exitOK, "resumed from step 6 of 20", "done: step 20")
	same(t, "whole", "disk/run")
}

// TestDiskFullOfTokens has no room for a text's tokens: the error says how much is missing on which disk, that of data.cache, and of commands that keep
// nothing it promises nothing.
func TestDiskFullOfTokens(t *testing.T) {
	inTiny(t)
	withMachine(t, 1<<33, -1)
	write(t, "text.txt", strings.Repeat(read(t, "text.txt"), 100))
	smallDisk(t, 40)
	all := []string{"train", "tiny.yaml", "--out", "run", "--set", "data.cache=disk/cache"}
	command(all...).want(t, exitFailure, "the disk is full: write disk/cache/train-", "no space left on device\nnothing was trained: about ", " of token ids are still to be written and ",
		" are free; encoding training text begins anew\nmake room on the disk of disk/cache, then go on with:\n  prenorm "+strings.Join(all, " "))
	r := command("data", "export", "tiny.yaml", "--out", "disk/export").want(t, exitFailure, "no space left on device: about ", " are free: make room on the disk of disk/export/cache-")
	if strings.Contains(r.errOut, "encoding training text begins") || strings.Contains(r.errOut, "goes on after") {
		t.Errorf("what is removed is promised\n%s", r.errOut)
	}
	remount(t, 0, "size=8m")
	command(append(all, "--max-step", "1")...).want(t, exitOK)
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
