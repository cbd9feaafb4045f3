package share

import (
	"context"
	"slices"
)

// Job is one or more requests to the API server. Its context outlives the one
// of [Share.Run] by the shutdown timeout.
type Job func(ctx context.Context)

// task is a job and its owner: a Graph, a distantGraph for jobs in another cluster, or an
// Account for jobs on behalf of all graphs of the account.
type task struct {
	owner any
	job   Job
}

// distantGraph is the owner of jobs for a graph in a distant cluster.
type distantGraph struct {
	Graph
	cluster string
}

// namespace returns the namespace of an owner of jobs.
func namespace(owner any) string {
	switch owner := owner.(type) {
	case distantGraph: // which is a Graph, too
		return owner.Owner().Namespace + "/" + owner.cluster
	case Graph:
		return owner.Owner().Namespace
	case reader:
		return owner.of
	}
	return ""
}

// turns is a round-robin queue: namespaces alternate, the owners of a namespace
// alternate, and the jobs of each owner are taken in FIFO order. The zero value is
// empty.
type turns struct {
	namespaces map[string]*ownerTurns
	order      []string // namespaces with jobs, the next one first
}

// has reports whether jobs of an owner wait.
func (t *turns) has(owner any) bool {
	of := t.namespaces[namespace(owner)]
	return of != nil && of.has(owner)
}

// owners returns the number of owners whose jobs wait.
func (t *turns) owners() int {
	n := 0
	for _, of := range t.namespaces {
		n += len(of.order)
	}
	return n
}

func (t *turns) add(added task) {
	name := namespace(added.owner)
	of := t.namespaces[name]
	if of == nil {
		if t.namespaces == nil {
			t.namespaces = map[string]*ownerTurns{}
		}
		of = &ownerTurns{jobs: map[any][]Job{}}
		t.namespaces[name] = of
		t.order = append(t.order, name)
	}
	of.add(added)
}

// take removes and returns the next job whose owner has room. The job is nil if
// there is none.
func (t *turns) take(hasRoom func(owner any) bool) task {
	for i, name := range t.order {
		of := t.namespaces[name]
		taken := of.take(hasRoom)
		if taken.job == nil {
			continue
		}
		t.order = slices.Delete(t.order, i, i+1)
		if len(of.order) > 0 {
			t.order = append(t.order, name)
			return taken
		}
		delete(t.namespaces, name)
		if len(t.namespaces) == 0 {
			*t = turns{} // map and slice may have grown large
		}
		return taken
	}
	return task{}
}

// ownerTurns is the queue of one namespace.
type ownerTurns struct {
	jobs  map[any][]Job
	order []any // owners with jobs, the next one first
}

func (t *ownerTurns) has(owner any) bool { return len(t.jobs[owner]) > 0 }

func (t *ownerTurns) add(added task) {
	if !t.has(added.owner) {
		t.order = append(t.order, added.owner)
	}
	t.jobs[added.owner] = append(t.jobs[added.owner], added.job)
}

func (t *ownerTurns) take(hasRoom func(owner any) bool) task {
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
	return taken
}
