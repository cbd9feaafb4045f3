//go:build unix

package render

import (
	"syscall"
	"time"
)

// processTime returns the CPU time that this process has used.
func processTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return time.Duration(time.Now().UnixNano()) // the clock is the stricter bound
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
