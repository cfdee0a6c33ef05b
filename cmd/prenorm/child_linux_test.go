package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestChildDies kills verify-resume and wants the training that it has started to end too.
func TestChildDies(t *testing.T) {
	inTiny(t)
	temporary := t.TempDir()
	c := exec.Command(os.Args[0], "verify-resume", "tiny.yaml", "--set", "train.steps=4000000", "--steps", "1000000")
	c.Env = append(os.Environ(), asCommand+"=", "TMPDIR="+temporary)
	must(c.Start())
	defer c.Process.Kill()
	deadline := time.Now().Add(20 * time.Second)
	child := 0
	for child == 0 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
		for _, path := range globbed(t, filepath.Join(temporary, "prenorm-verify-resume-*", "whole", "run.pid")) {
			text, _ := os.ReadFile(path)
			child, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		}
	}
	if child == 0 {
		t.Fatal("no training was started")
	}
	must(c.Process.Kill())
	_ = c.Wait()
	for running(child) {
		if time.Now().After(deadline) {
			must(syscall.Kill(child, syscall.SIGKILL))
			t.Fatal("the training goes on")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// running says whether a process is there that has not ended.
func running(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func globbed(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	must(err)
	return paths
}
