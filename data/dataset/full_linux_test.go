package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of so many KiB at the run's folder, for a test.
func smallDisk(t *testing.T, dir string, kib int) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kib)); err != nil {
		if os.Getenv("PRENORM_SLOW") == "" && (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES)) {
			t.Skipf("only a system's administrator can mount a small disk here: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// grow gives a small disk more room.
func grow(t *testing.T, dir string, kib int) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%dk", kib)); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk prepares a text on disks that are too small by less and less: each time the error says what is missing and what to do, the text is not
// read again, what is marked stays and is gone on with, and what is there in the end is what is there without.
func TestFullDisk(t *testing.T) {
	marks(t, 100_000)
	r := newRun(t)
	rows(t, 1600)
	want := r.open(t)
	files := contents(t)
	info, err := os.Stat(glob(t, "run/train-*.tokens")[0])
	if err != nil {
		t.Fatal(err)
	}
	whole := float64(info.Size()) / 1024 // KiB
	if err := os.RemoveAll("run"); err != nil {
		t.Fatal(err)
	}
	smallDisk(t, "run", 4)
	percent := regexp.MustCompile(`encoding training text goes on after (\d+)%: make room on the disk of run, or choose`)
	missing := regexp.MustCompile(`about (\d+\.\d) ([KM])iB of token ids are still to be written and \d+\.\d [KM]iB are free; `)
	promised, wentOn := "", 0
	for kib := 4; ; kib += 400 {
		grow(t, "run", kib)
		r.stages, r.notes = nil, nil
		d, err := Open(r.cfg, r.opt)
		if promised != "" && (len(r.notes) == 0 || !strings.HasPrefix(r.notes[len(r.notes)-1], "encoding training text: going on after "+promised+"%")) {
			t.Errorf("%d KiB: promised to go on after %s%%, notes %q", kib, promised, r.notes)
		}
		if err == nil {
			d.Close()
			break
		}
		var full *Full
		if !errors.As(err, &full) || !errors.Is(err, syscall.ENOSPC) || full.Folder != "run" || strings.Count(err.Error(), "make room on the disk of run") != 1 || !strings.Contains(err.Error(), "run/") {
			t.Fatalf("%d KiB: %v", kib, err)
		}
		if kib > 4 && strings.Contains(r.did(), "reading text") {
			t.Errorf("%d KiB: the text was read again: %s", kib, r.did())
		}
		promised = ""
		if found := percent.FindStringSubmatch(err.Error()); found != nil {
			promised = found[1]
			wentOn++
			m := missing.FindStringSubmatch(err.Error())
			if m == nil {
				t.Fatalf("%d KiB: %v", kib, err)
			}
			x, _ := strconv.ParseFloat(m[1], 64)
			if m[2] == "M" {
				x *= 1024
			}
			share, _ := strconv.ParseFloat(promised, 64)
			if all := x + share/100*whole; all < whole*2/3 || all > whole*4/3 {
				t.Errorf("%d KiB: %s%% of %.1f KiB is kept, and %.1f KiB are said to be missing", kib, promised, whole, x)
			}
		} else if left := unfinishedIn(t, "run"); len(left) > 0 {
			t.Errorf("%d KiB: %v and no word of it: %v", kib, left, err)
		}
	}
	if wentOn < 2 {
		t.Errorf("went on %d times", wentOn)
	}
	if got := contents(t); got != files {
		t.Error("other files after full disks")
	}
	if r.open(t) != want {
		t.Error("another data set after full disks")
	}
}

// unfinishedIn are the unfinished files in a folder.
func unfinishedIn(t *testing.T, dir string) (list []string) {
	t.Helper()
	for _, like := range []string{"*.part*", "*.tmp-*"} {
		found, err := filepath.Glob(filepath.Join(dir, like))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	return list
}

// TestFullDiskOfOthers fills the disk within every other file of a data set: tokenizer, starts of documents, proofs, tokens that are copied.
func TestFullDiskOfOthers(t *testing.T) {
	for what, change := range map[string]func(r *run){
		"documents": func(r *run) { r.cfg.Packing = "documents" },
		"proved":    func(r *run) { r.cfg.Verify = true },
		"ids": func(r *run) {
			r.cfg.Tokenizer.Kind, r.cfg.Val.Fraction = "byte", 0.5
			r.cfg.Train, r.cfg.Val.Files = []string{"a.bin"}, nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRun(t)
			write(t, "a.bin", strings.Repeat(uint16s(1, 2, 3, 4), 4000))
			change(r)
			want := r.open(t)
			if err := os.RemoveAll("run"); err != nil {
				t.Fatal(err)
			}
			smallDisk(t, "run", 4)
			fulls := 0
			for kib := 4; ; kib += 4 {
				grow(t, "run", kib)
				d, err := Open(r.cfg, r.opt)
				if err == nil {
					d.Close()
					break
				}
				fulls++
				var full *Full
				if !errors.As(err, &full) || strings.Count(err.Error(), "make room on the disk of run") != 1 || strings.Count(err.Error(), "no space left") != 1 {
					t.Fatalf("%d KiB: %v", kib, err)
				}
				if left := unfinishedIn(t, "run"); len(left) > 0 {
					t.Errorf("%d KiB: %v is left", kib, left)
				}
			}
			if fulls < 4 {
				t.Errorf("the disk was full %d times", fulls)
			}
			if r.open(t) != want {
				t.Error("another data set after full disks")
			}
		})
	}
}
