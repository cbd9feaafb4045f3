package worker

import (
	"cmp"
	"runtime"
	"time"

	"github.com/go-logr/logr"
)

// Options configure a [Pool]. Dir is required; the zero value of every other field is a
// default.
type Options struct {
	// Dir is a directory for the sources of platforms. It belongs to the pool, which creates
	// and empties it.
	Dir string
	// Command starts a child process, which must call [child.Serve]. The default is the
	// program itself with the argument worker.
	//
	// [child.Serve]: https://pkg.go.dev/github.com/pequod-io/pequod/operator/worker/child#Serve
	Command []string
	// Timeout is the limit of the CPU time of one evaluation. The default is 10 s.
	Timeout time.Duration
	// Clock is the limit of its time by the clock, on a machine that gives it little CPU time. The
	// default is 10 times Timeout.
	Clock time.Duration
	// Grace is the time that a process has, beyond the limit of an evaluation, to report that
	// the limit was exceeded. Then it is killed. The default is 5 s, because the machine may be
	// busy.
	Grace time.Duration
	// Memory is the limit of one process during an evaluation, in bytes. The default is 1 GiB.
	Memory uint64
	// Budget is the memory for all processes together, in bytes: an evaluation counts with Memory, and a
	// process without one with what it has. Evaluations wait, and processes without one end, before it
	// is exceeded. One evaluation is always possible. 0 means no limit.
	Budget uint64
	// Processes is the greatest number of processes. If another one is needed, the one that
	// has been idle for the longest time ends, but not while its platform has evaluations, for half a
	// second of them. The default is 64.
	Processes int
	// Evaluations is the greatest number of evaluations at a time. The default is that of
	// processors.
	Evaluations int
	// Idle is the time after which a process without work ends. The default is 5 min.
	Idle time.Duration
	// Backoff is the time until a process starts again after the first failure. It doubles
	// with every further one. The default is 500 ms.
	Backoff time.Duration
	// AllowSecrets lets Secrets have literal data.
	AllowSecrets bool
	// Metrics may be nil.
	Metrics Metrics
	// Log gets what processes print, and the restarts.
	Log logr.Logger
}

// maxBackoff is the longest time until a process starts again.
const maxBackoff = 30 * time.Second

// withDefaults returns o with the defaults of fields that are not set.
func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Clock = cmp.Or(o.Clock, 10*o.Timeout)
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	o.Memory = cmp.Or(o.Memory, 1<<30)
	o.Processes = cmp.Or(o.Processes, 64)
	o.Evaluations = cmp.Or(o.Evaluations, runtime.GOMAXPROCS(0))
	o.Idle = cmp.Or(o.Idle, 5*time.Minute)
	o.Backoff = cmp.Or(o.Backoff, 500*time.Millisecond)
	// Otherwise an evaluation could wait for a process that is busy, although it has a turn.
	o.Processes = max(o.Processes, o.Evaluations+1)
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	if o.Log.IsZero() {
		o.Log = logr.Discard()
	}
	return o
}

// Metrics count evaluations and processes. A platform is the namespace and the name of its
// Transform. The pool calls one method at a time.
type Metrics interface {
	// Rendered is called after each rendering with its time, without that in which it waited for
	// its turn or for a process. errorType is "" if the instance has a graph.
	Rendered(platform string, took time.Duration, errorType string)
	// Processes is called when the number of processes has changed.
	Processes(n int)
	// Failed is called when a process of a platform has ended by a failure, and will be started
	// again.
	Failed(platform, errorType string)
	// Forgotten is called when the pool has no platform of a Transform any more.
	Forgotten(platform string)
}

type noMetrics struct{}

func (noMetrics) Rendered(string, time.Duration, string) {}
func (noMetrics) Processes(int)                          {}
func (noMetrics) Failed(string, string)                  {}
func (noMetrics) Forgotten(string)                       {}
