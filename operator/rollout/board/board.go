// Package board is where the controllers of instances and the executor of rollouts meet. The
// controllers show their instances, and the executor assigns versions to them.
//
// A [Board] keeps no instances: it only knows the controller of each kind.
package board

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/operator/rollout"
)

// Kind is the controller of the instances of a kind. Its methods may be called concurrently.
type Kind interface {
	// Instances returns the instances that take part in rollouts. It returns false if not all
	// of them are known yet, which the controller reports later by [Board.Changed].
	Instances() ([]rollout.Instance, bool)
	// Behind reports whether an instance that takes part in rollouts has a graph of another version
	// than the current one, which doesn't refuse it. Unlike Instances, it looks at no instance.
	Behind() bool
	// InUse counts the instances by the digests of the modules that their graphs have, and by the
	// versions that they are pinned to. It returns false if not all instances are known yet.
	InUse() (map[string]int, bool)
	// Assign gives instances their version, from now on.
	Assign(Assignment)
}

// Assignment says which instances get which version of a module. All others keep theirs. It
// has no effect on a platform whose current version isn't To.
type Assignment struct {
	// From, To and Create are digests of modules. Create is for instances without a graph.
	From, To, Create string
	// Update get To, and Restore get From.
	Update, Restore map[types.NamespacedName]bool
}

// Board has the controllers of all kinds. Its methods may be called concurrently.
type Board struct {
	mu      sync.Mutex // guards what follows
	kinds   map[schema.GroupKind]Kind
	changed func(schema.GroupKind)
}

// New returns an empty board.
func New() *Board { return &Board{kinds: map[schema.GroupKind]Kind{}} }

// Join adds the controller of a kind, in place of a former one.
func (b *Board) Join(kind schema.GroupKind, k Kind) {
	b.mu.Lock()
	b.kinds[kind] = k
	b.mu.Unlock()
	b.Changed(kind)
}

// Leave removes a controller, unless another one has replaced it.
func (b *Board) Leave(kind schema.GroupKind, k Kind) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kinds[kind] == k {
		delete(b.kinds, kind)
	}
}

// Of returns the controller of a kind, or nil.
func (b *Board) Of(kind schema.GroupKind) Kind {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kinds[kind]
}

// Changed reports that the instances of a kind have changed.
func (b *Board) Changed(kind schema.GroupKind) {
	b.mu.Lock()
	changed := b.changed
	b.mu.Unlock()
	if changed != nil {
		changed(kind)
	}
}

// OnChange has f called for each change. It must not block.
func (b *Board) OnChange(f func(kind schema.GroupKind)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed = f
}
