package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/cpu"

	"prenorm/configs"
	"prenorm/data/corpus"
	"prenorm/data/shard"
	"prenorm/train/metrics"

	"prenorm/kernels"
)

func examineProgram() []finding {
	return []finding{{fine, "program", version(), ""}}
}

// processorFeatures are what fast kernels can use.
func processorFeatures() []string {
	var list []string
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"AVX", cpu.X86.HasAVX}, {"AVX2", cpu.X86.HasAVX2}, {"FMA", cpu.X86.HasFMA}, {"AVX-512F", cpu.X86.HasAVX512F},
		{"ASIMD", cpu.ARM64.HasASIMD}, {"SVE", cpu.ARM64.HasSVE},
	} {
		if f.has {
			list = append(list, f.name)
		}
	}
	return list
}

// examineMachine looks at processor and memory.
func examineMachine() []finding {
	threads := counted(runtime.GOMAXPROCS(0), "thread")
	features := strings.Join(processorFeatures(), " ")
	if features == "" {
		features = "no vector instructions known"
	}
	found := []finding{{fine, "processor", fmt.Sprintf("%s, %s, %s", runtime.GOARCH, threads, features), ""}}
	switch total := kernels.HostMemory(); {
	case total == 0:
		found = append(found, finding{fine, "memory", "size not known on this system", ""})
	case total < 1<<30:
		found = append(found, finding{warning, "memory", metrics.Bytes(int64(total)), "see what a run takes with prenorm plan, and lower train.batch or the model's size"})
	default:
		found = append(found, finding{fine, "memory", metrics.Bytes(int64(total)), ""})
	}
	return found
}

// examineFolder writes, makes durable, renames and reads a file in the current folder, as checkpoints are.
func examineFolder() []finding {
	f := finding{status: fine, what: "folder", found: "files can be written, made durable and renamed here"}
	if err := writeHere(); err != nil {
		f.status, f.found = failed, err.Error()
		f.remedy = "go to a folder on a local disk that you may write to, or name one with --out"
	}
	return []finding{f}
}

func writeHere() (err error) {
	dir, err := os.MkdirTemp(".", ".prenorm-doctor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	const content = "what was written"
	for range 2 { // the second time over an existing file
		if err := shard.WriteFile(first, []byte(content)); err != nil {
			return err
		}
	}
	if err := os.Rename(first, second); err != nil {
		return err
	}
	read, err := os.ReadFile(second)
	if err == nil && string(read) != content {
		err = fmt.Errorf("a file read back holds %q, not %q", read, content)
	}
	return err
}

// examineText looks for the text that the quickstart trains on.
func examineText() []finding {
	f := finding{status: fine, what: "text"}
	l, err := configs.Load("quickstart", nil)
	if err == nil {
		var c *corpus.Corpus
		if c, err = corpus.Open(l.Run.Data, nil, ""); err == nil {
			var names []string
			for _, file := range c.Files(corpus.Train) {
				names = append(names, file.Name)
			}
			f.found = "quickstart trains on " + strings.Join(names, ", ")
			return []finding{f}
		}
	}
	f.status, f.found = warning, err.Error()
	f.remedy = "any text of some hundred kB will do: prenorm train quickstart --set data.train=PATH"
	return []finding{f}
}
