package incluster

import (
	"runtime"
	"runtime/debug"
)

// FreeMemory returns free memory to the system. It collects garbage twice, because a pool
// keeps its buffers over the first collection.
func FreeMemory() {
	runtime.GC()
	debug.FreeOSMemory()
}
