// Package catalog is the list of platforms that are ready for instances.
//
// Package operator/transform writes a [Catalog]: a platform is in it while its
// CustomResourceDefinition is established and its module can be rendered. The controllers of
// instances and the webhooks read it. A catalog makes no requests and keeps nothing on disk:
// after a restart it is empty, until the Transforms have been read again.
package catalog

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Entry is a platform that is ready for instances. Entries are shared and must not be
// changed.
type Entry struct {
	// Transform is the Transform of the platform, and UID its UID.
	Transform types.NamespacedName
	UID       types.UID
	// Generation is the generation of the Transform whose spec the entry has.
	Generation int64
	// Digest identifies the encoded sources, as sha256:HEX. Together with Transform it is the
	// key of the platform in worker processes.
	Digest string
	// Sources are the encoded sources, for a worker process that has not loaded them.
	Sources []byte
	// Module is the module that the sources have.
	Module Module
	// Policies identifies the references to the organization's policies that the sources have.
	Policies string
	// NotReady is why the Transform isn't ready, if there is no good version of the platform. Such an
	// entry has the names of the kind, and is shown by [Catalog.Watch] only, so that instances show the
	// reason.
	NotReady string
	// Paused is set if the Transform is paused: nothing is written for its instances.
	Paused bool
	// IgnoresLabels and IgnoresAnnotations are set if the module doesn't see the labels or
	// the annotations of instances.
	IgnoresLabels, IgnoresAnnotations bool
	// StatusFields are the names of the fields of the module's #Status. Outputs with these names
	// become fields of the status of instances.
	StatusFields []string
	// Others are other versions of the platform that instances may have, during a rollout or
	// because they are pinned. Each has another module.
	Others []Version
	// Rollout is spec.rollout of the Transform. If it is nil, all instances get the current
	// version at once.
	Rollout *v1alpha1.Rollout
	// Former is set in the result of [Entry.At] to the digest of the sources of a version that
	// is not the current one. Instances are rendered with its module, and all else of Sources.
	Former string
	// Schema identifies the spec of the CRD.
	Schema string
	// Names are the names, the scope and the versions of the kind.
	Names v1alpha1.Names
	// ServiceAccountName is the service account of the rendered graphs, in the namespace of
	// the instance. If it is empty, they run as Account.
	ServiceAccountName string
	// Account is the service account that has the generated roles of the Transform. It is in
	// the manager's namespace.
	Account types.NamespacedName
	// GraphDeletionPolicy is the deletion policy of the rendered graphs.
	GraphDeletionPolicy v1alpha1.DeletionPolicy
}

// Module identifies the content of a module.
type Module struct {
	// Digest is the digest of the content, as sha256:HEX, and Version its version, or "" if it
	// has none. Graphs record both in spec.platformRef.
	Digest  string `json:"digest"`
	Version string `json:"version,omitempty"`
}

// Version is the part of an entry that differs between the versions of a platform.
type Version struct {
	Module Module `json:"module"`
	// Digest identifies the encoded sources.
	Digest string `json:"digest"`
	// Policies is that of [Entry].
	Policies string `json:"policies,omitempty"`
	// IgnoresLabels and IgnoresAnnotations are those of [Entry].
	IgnoresLabels      bool `json:"ignoresLabels,omitempty"`
	IgnoresAnnotations bool `json:"ignoresAnnotations,omitempty"`
}

// Current returns the current version.
func (e *Entry) Current() Version {
	return Version{Module: e.Module, Digest: e.Digest, Policies: e.Policies, IgnoresLabels: e.IgnoresLabels, IgnoresAnnotations: e.IgnoresAnnotations}
}

// At returns the entry as it is for instances of the version whose module has a digest or a
// version. It returns nil if the entry has no such version. Policies may read labels that the
// module doesn't, so those of the current version count, too.
func (e *Entry) At(module string) *Entry {
	if module == "" {
		return nil
	}
	if e.Module.is(module) {
		return e
	}
	for _, v := range e.Others {
		if v.Module.is(module) {
			at := *e
			at.Module, at.Former = v.Module, v.Digest
			at.IgnoresLabels, at.IgnoresAnnotations = v.IgnoresLabels && e.IgnoresLabels, v.IgnoresAnnotations && e.IgnoresAnnotations
			return &at
		}
	}
	return nil
}

// is reports whether name is the digest or the version of the module.
func (m Module) is(name string) bool { return name == m.Digest || name == m.Version }

// Kind returns the kind of the instances.
func (e *Entry) Kind() schema.GroupKind {
	return schema.GroupKind{Group: e.Names.Group, Kind: e.Names.Kind}
}

// Catalog has at most one entry for each kind. All its methods may be called concurrently.
type Catalog struct {
	mu      sync.Mutex // guards what follows
	entries map[schema.GroupKind]*Entry
	// changed is closed at the next change.
	changed chan struct{}
	// counts are the numbers of instances of Transforms with an entry; see [Catalog.Count].
	counts map[types.NamespacedName]v1alpha1.InstanceCounts
	// listings tell whether the instances of Transforms with an entry can be listed.
	listings map[types.NamespacedName]Listing
	onCount  func(types.NamespacedName)
	onRights func()
}

// New returns an empty catalog.
func New() *Catalog {
	return &Catalog{
		entries: map[schema.GroupKind]*Entry{}, changed: make(chan struct{}), counts: map[types.NamespacedName]v1alpha1.InstanceCounts{},
		listings: map[types.NamespacedName]Listing{},
	}
}

// Get returns the entry of a kind, or nil.
func (c *Catalog) Get(kind schema.GroupKind) *Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[kind]; e != nil && e.NotReady == "" {
		return e
	}
	return nil
}

// Of returns the entry of a Transform, or nil.
func (c *Catalog) Of(transform types.NamespacedName) *Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		if e.Transform == transform && e.NotReady == "" {
			return e
		}
	}
	return nil
}

// Entries returns all entries, sorted by group and kind.
func (c *Catalog) Entries() []*Entry {
	entries, _ := c.snapshot()
	maps.DeleteFunc(entries, func(_ schema.GroupKind, e *Entry) bool { return e.NotReady != "" })
	return slices.SortedFunc(maps.Values(entries), func(a, b *Entry) int { return compare(a.Kind(), b.Kind()) })
}

// Set adds an entry, or replaces the entry of its kind. An entry that its Transform has for
// another kind is removed. An equal entry changes nothing.
func (c *Catalog) Set(e *Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := e.Kind()
	removed := c.remove(func(old *Entry) bool { return old.Transform == e.Transform && old.Kind() != kind })
	if old := c.entries[kind]; old != nil && reflect.DeepEqual(old, e) && !removed {
		return
	}
	c.entries[kind] = e
	if _, known := c.listings[e.Transform]; !known {
		c.listings[e.Transform] = Listing{Err: errNotListed, Since: time.Now()}
	}
	c.notify()
}

// Delete removes the entry of a Transform.
func (c *Catalog) Delete(transform types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.remove(func(e *Entry) bool { return e.Transform == transform }) {
		c.notify()
	}
}

// remove removes entries and reports whether there were any. The caller holds the lock.
func (c *Catalog) remove(matches func(*Entry) bool) bool {
	before := len(c.entries)
	maps.DeleteFunc(c.entries, func(_ schema.GroupKind, e *Entry) bool {
		if matches(e) {
			delete(c.counts, e.Transform)
			delete(c.listings, e.Transform)
		}
		return matches(e)
	})
	return len(c.entries) < before
}

// notify wakes all watchers. The caller holds the lock.
func (c *Catalog) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// snapshot returns a copy of the entries, and a channel that is closed when they change.
func (c *Catalog) snapshot() (map[schema.GroupKind]*Entry, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.entries), c.changed
}

// Watch calls f for every entry, and then for each that changes, until ctx is done. The entry
// is nil if the kind has none any more. Calls do not overlap. If an entry changes several
// times while f runs, f sees its last state only.
func (c *Catalog) Watch(ctx context.Context, f func(kind schema.GroupKind, entry *Entry)) {
	seen := map[schema.GroupKind]*Entry{}
	for {
		entries, changed := c.snapshot()
		all := maps.Clone(seen)
		maps.Copy(all, entries)
		for _, kind := range slices.SortedFunc(maps.Keys(all), compare) {
			if entries[kind] != seen[kind] {
				f(kind, entries[kind])
			}
		}
		seen = entries
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// compare orders kinds by group and name.
func compare(a, b schema.GroupKind) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
}
