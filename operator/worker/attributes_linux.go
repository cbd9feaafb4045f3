package worker

import "syscall"

// attributes puts a child in a process group of its own, so that Ctrl-C in a terminal reaches
// only the program, and lets the kernel kill it with the thread that started it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
