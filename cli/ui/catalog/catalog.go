package catalog

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/inventory"
)

// A Catalog has the summaries of the graphs of a namespace or of all. It is safe for
// concurrent use.
type Catalog struct {
	applier   *applier.Applier
	namespace string // "" for all

	mu sync.Mutex // guards everything below
	// known are the summaries by their origin. A ResourceGraph takes precedence over an
	// inventory, and both over a graph of the files.
	known [origins]map[inventory.Owner]Summary
	// problems are the reasons why an origin can't be watched now, "" if it is.
	problems [origins]string
	// listed are the origins that were listed at least once.
	listed [origins]bool
	// changed is closed and replaced when something changes.
	changed chan struct{}
}

// origin is where a graph is known from.
type origin int

const (
	fromGraphs origin = iota
	fromInventories
	fromFiles
	origins
)

// New returns an empty catalog of the graphs of a namespace, "" for all. Graphs of given
// are listed even if the cluster doesn't have them.
func New(a *applier.Applier, namespace string, given []inventory.Owner) *Catalog {
	c := &Catalog{applier: a, namespace: namespace, changed: make(chan struct{})}
	for o := range c.known {
		c.known[o] = map[inventory.Owner]Summary{}
	}
	for _, owner := range given {
		c.known[fromFiles][owner] = Summary{Namespace: owner.Namespace, Name: owner.Name, State: Given, Ready: -1}
	}
	c.listed[fromFiles] = true
	return c
}

// A View has the part of a catalog that one reader knows. The zero value knows nothing.
type View struct {
	seen map[inventory.Owner]Summary
	last Update
}

// Update has the changes for a reader.
type Update struct {
	// Graphs are new or changed, in the order of namespaces and names. Gone are the others
	// that the reader knew.
	Graphs []Summary `json:"graphs,omitempty"`
	Gone   []string  `json:"gone,omitempty"`
	// Problem are the reasons why the list may be out of date now, or "".
	Problem string `json:"problem,omitempty"`
	// Complete is set when all graphs were listed once.
	Complete bool `json:"complete"`
}

// Next waits until the catalog differs from a view, brings the view up to date, and
// returns the difference. The first call returns at once. The error is that of ctx.
func (c *Catalog) Next(ctx context.Context, v *View) (Update, error) {
	first := v.seen == nil
	for {
		c.mu.Lock()
		update, changed := c.difference(v), c.changed
		c.mu.Unlock()
		if first || len(update.Graphs)+len(update.Gone) > 0 || update.Problem != v.last.Problem || update.Complete != v.last.Complete {
			v.last = update
			return update, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Update{}, ctx.Err()
		}
	}
}

// difference returns how the catalog differs from a view, and changes the view. The
// caller holds the lock.
func (c *Catalog) difference(v *View) Update {
	var u Update
	if v.seen == nil {
		v.seen = map[inventory.Owner]Summary{}
	}
	current := map[inventory.Owner]Summary{}
	for o := origins - 1; o >= 0; o-- {
		maps.Copy(current, c.known[o])
	}
	u.Problem = strings.Join(slices.DeleteFunc(slices.Clone(c.problems[:]), func(p string) bool { return p == "" }), "; ")
	for owner, s := range current {
		_, s.Files = c.known[fromFiles][owner]
		current[owner] = s
		if old, known := v.seen[owner]; !known || old != s {
			u.Graphs = append(u.Graphs, s)
		}
	}
	for owner := range v.seen {
		if _, there := current[owner]; !there {
			u.Gone = append(u.Gone, owner.String())
		}
	}
	v.seen = current
	slices.SortFunc(u.Graphs, Summary.compare)
	slices.Sort(u.Gone)
	u.Complete = !slices.Contains(c.listed[:], false)
	return u
}

// change calls f with the lock held, and wakes the readers.
func (c *Catalog) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

// minPause is the least time between two updates of a reader, so that a burst of changes
// is one update.
const minPause = 200 * time.Millisecond

// Pause waits until a reader may ask for the next update.
func Pause(ctx context.Context) {
	select {
	case <-time.After(minPause):
	case <-ctx.Done():
	}
}
