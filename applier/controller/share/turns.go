package share

import (
	"context"
	"slices"
)

// Job is one or more requests to the API server. Its context outlives the one
// of [Share.Run] by the shutdown timeout.
type Job func(ctx context.Context)

// task is a job and its owner: a Graph, or an Account for jobs on behalf of all
// graphs of the account.
type task struct {
	owner any
	job   Job
}

// turns is a round-robin queue: owners alternate, and the jobs of each owner are
// taken in FIFO order. The zero value is empty.
type turns struct {
	jobs  map[any][]Job
	order []any // owners with jobs, the next one first
}

// has reports whether jobs of an owner wait.
func (t *turns) has(owner any) bool { return len(t.jobs[owner]) > 0 }

// owners returns the number of owners whose jobs wait.
func (t *turns) owners() int { return len(t.order) }

func (t *turns) add(added task) {
	if t.jobs == nil {
		t.jobs = map[any][]Job{}
	}
	if !t.has(added.owner) {
		t.order = append(t.order, added.owner)
	}
	t.jobs[added.owner] = append(t.jobs[added.owner], added.job)
}

// take removes and returns the next job whose owner has room. The job is nil if
// there is none.
func (t *turns) take(hasRoom func(owner any) bool) task {
	i := slices.IndexFunc(t.order, hasRoom)
	if i < 0 {
		return task{}
	}
	owner := t.order[i]
	t.order = slices.Delete(t.order, i, i+1)
	jobs := t.jobs[owner]
	taken := task{owner, jobs[0]}
	jobs[0] = nil // the slice may live on
	if len(jobs) > 1 {
		t.jobs[owner] = jobs[1:]
		t.order = append(t.order, owner)
		return taken
	}
	delete(t.jobs, owner)
	if len(t.jobs) == 0 {
		*t = turns{} // map and slice may have grown large
	}
	return taken
}
