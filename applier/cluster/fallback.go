package cluster

import (
	"context"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// Merger computes the result of a server-side apply without the API server. The live
// object is nil if there is none. Its errors are those of the API server.
type Merger interface {
	Merge(ctx context.Context, live, config *unstructured.Unstructured, manager string, force bool) (*unstructured.Unstructured, error)
}

// Fallback replaces dry runs that the account has no right to send. The first dry run
// for a kind and a namespace is sent to the API server. If it is forbidden, no further
// one is sent for that kind and namespace: applies are merged by the Merger, and
// removals are assumed to succeed. Fallback is safe for concurrent use.
type Fallback struct {
	merger Merger

	mu     sync.Mutex // guards rights
	rights map[string]*right
}

// right is the right to send dry runs for one kind, namespace and operation. mu is
// held during the first dry run, so that others wait for its answer.
type right struct {
	mu            sync.Mutex
	known, denied bool
}

// operation is what a right is needed for. A read-only account has neither right, but
// the first one that is denied stands only for itself.
type operation string

const (
	applying operation = "apply"
	removing operation = "remove"
)

// NewFallback returns a Fallback that doesn't know the rights of the account yet.
func NewFallback(merger Merger) *Fallback {
	return &Fallback{merger: merger, rights: map[string]*right{}}
}

// Denied returns the resources whose dry runs were forbidden, as in
// "deployments.apps", sorted.
func (f *Fallback) Denied() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []string
	for name, r := range f.rights {
		resource, _, _ := strings.Cut(name, " ")
		r.mu.Lock()
		if r.denied && !slices.Contains(found, resource) {
			found = append(found, resource)
		}
		r.mu.Unlock()
	}
	slices.Sort(found)
	return found
}

// rightTo returns the right to send dry runs of an operation.
func (f *Fallback) rightTo(a address, op operation) *right {
	name := a.kind.Resource.GroupResource().String() + " " + a.namespace + " " + string(op)
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.rights[name]
	if r == nil {
		r = &right{}
		f.rights[name] = r
	}
	return r
}

// lacks reports whether the right to an operation is known to be missing.
func (f *Fallback) lacks(a address, op operation) bool {
	if f == nil {
		return false
	}
	r := f.rightTo(a, op)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.denied
}

// try calls send unless the right to do so is known to be missing, and reports
// whether it is missing. Without a Fallback, it only calls send.
func (f *Fallback) try(a address, op operation, send func() error) (denied bool, err error) {
	if f == nil {
		return false, send()
	}
	if op != applying && f.lacks(a, applying) {
		return true, nil // an account that may not patch is read-only
	}
	r := f.rightTo(a, op)
	r.mu.Lock()
	if r.known {
		r.mu.Unlock()
		if r.denied {
			return true, nil
		}
		return false, send()
	}
	defer r.mu.Unlock()
	err = send()
	// A failure that isn't the API server's answer leaves the right unknown.
	r.denied = isUnauthorized(err)
	r.known = err == nil || r.denied || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
	return r.denied, err
}

// missingRight matches the message of an authorizer. Admission plugins answer with
// Forbidden, too, but their refusals concern the object and not the account.
var missingRight = lazyregexp.New(` cannot [a-z:-]+ resource "`)

// isUnauthorized reports whether err is the API server's refusal of a request for
// which the account has no right.
func isUnauthorized(err error) bool {
	return apierrors.IsForbidden(err) && missingRight().MatchString(err.Error())
}

// fallback returns what replaces the client's dry runs. It is nil for a client that
// writes.
func (c *Client) fallback() *Fallback {
	if !c.DryRun {
		return nil
	}
	return c.Fallback
}

// removeOrAssume calls send, which removes or releases an object. If the account has
// no right to send a dry run of it, the removal is assumed to succeed.
func (c *Client) removeOrAssume(a address, send func() error) error {
	denied, err := c.fallback().try(a, removing, send)
	if denied {
		return nil
	}
	return err
}

// patchOrMerge sends a server-side apply. If the account has no right to send it, and
// the client is one of a preview, the result is that of the fallback.
func (c *Client) patchOrMerge(ctx context.Context, a address, object map[string]any, options metav1.PatchOptions) (live *unstructured.Unstructured, created bool, err error) {
	denied, err := c.fallback().try(a, applying, func() error {
		live, created, err = c.patch(ctx, a, types.ApplyPatchType, object, options)
		return err
	})
	if !denied {
		return live, created, err
	}
	before := c.before
	if before == nil {
		if before, err = c.get(ctx, a); err != nil {
			return nil, false, err
		}
	}
	force := options.Force != nil && *options.Force
	live, err = c.Fallback.merger.Merge(ctx, before, &unstructured.Unstructured{Object: object}, options.FieldManager, force)
	return live, before == nil, err
}
