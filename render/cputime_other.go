//go:build !unix

package render

import "time"

// processTime returns the time of the clock: the CPU time is not known.
func processTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
