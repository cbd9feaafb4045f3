package review

import "runtime/debug"

// reportGarbage is the growth of the heap over the live data that triggers a collection
// while a report is made, in the unit of GOGC.
const reportGarbage = 200

// boundGarbage makes the collector run more often until the returned function is called.
// Both sides are in memory then, and the percentage of short commands would let garbage
// grow to several times their size.
func boundGarbage() (restore func()) {
	before := debug.SetGCPercent(reportGarbage)
	if 0 <= before && before < reportGarbage {
		debug.SetGCPercent(before)
	}
	return func() { debug.SetGCPercent(before) }
}
