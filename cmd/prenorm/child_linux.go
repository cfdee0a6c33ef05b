package main

import (
	"os/exec"
	"syscall"
)

// diesWithParent has the system kill a process when the thread that starts it ends, as it does when this process is killed.
func diesWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
