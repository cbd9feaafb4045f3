package worker

import (
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes puts a child in a process group of its own, so that Ctrl-C in a terminal reaches
// only the program, and lets the kernel kill it with the thread that started it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// keepInherited keeps files that the program has inherited itself from its children. Go does so
// for the files that it opens. Kernels before Linux 5.11 refuse the call, and other programs than
// shells leave no such files.
func keepInherited() { _ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) }
