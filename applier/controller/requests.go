package controller

import (
	"context"

	"github.com/pequod-io/pequod/applier/controller/share"
)

// requests counts the requests of one run that are in flight. Only the worker
// uses it. Jobs run in the pool, and return what the worker has to do with the
// answer.
type requests struct {
	share    *share.Share
	graph    share.Graph
	epoch    int64 // in which the run began; in another one, nothing is requested
	post     func(func())
	panicked func(error) // called by the worker if a job panicked

	inFlight int
}

// job is one or more requests. It returns a function for the worker.
type job func(ctx context.Context) (then func())

// start queues a job that continues the work of the run.
func (q *requests) start(do job) { q.share.Continue(q.graph, q.counted(do)) }

// startIn is start for a job that makes its requests in the cluster of a Share.
func (q *requests) startIn(objects *share.Share, do job) { objects.Continue(q.graph, q.counted(do)) }

// begin queues a job that begins the work of the run.
func (q *requests) begin(do job) { q.share.Begin(q.graph, q.counted(do)) }

func (q *requests) counted(do job) share.Job {
	q.add()
	return func(ctx context.Context) {
		if q.share.Epoch() != q.epoch {
			q.answer(func() {}) // the driver ends the run in its next step
			return
		}
		q.answer(q.guarded(ctx, do))
	}
}

// add counts a request that is made in another way than by start or begin.
func (q *requests) add() { q.inFlight++ }

// answer makes the worker count a request as answered and call then. It may be
// called from any goroutine.
func (q *requests) answer(then func()) {
	q.post(func() {
		q.inFlight--
		then()
	})
}

// guarded recovers panics in a job so that a panic fails only this graph.
func (q *requests) guarded(ctx context.Context, do job) (then func()) {
	defer func() {
		if p := recover(); p != nil {
			err := q.share.PanicError(p, q.graph.Owner())
			then = func() { q.panicked(err) }
		}
	}()
	return do(ctx)
}
