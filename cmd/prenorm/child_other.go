//go:build !linux

package main

import "os/exec"

// diesWithParent does nothing: this system offers no such thing.
func diesWithParent(*exec.Cmd) {}
