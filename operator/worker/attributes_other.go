//go:build !linux

package worker

import "syscall"

// attributes puts a child in a process group of its own, so that Ctrl-C in a terminal reaches
// only the program. It ends with the program because its input ends.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// keepInherited does nothing: the manager runs on Linux.
func keepInherited() {}
