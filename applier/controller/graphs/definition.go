package graphs

import (
	"context"
	"encoding/json"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
)

// definition answers whether the CustomResourceDefinition of ResourceGraphs is
// being deleted. Its zero value is ready to use.
//
// The API server marks the definition before it deletes the graphs, so a read that
// begins after the deletion of a graph was seen is reliable. An older answer isn't,
// and nothing is cached. Callers that ask while a read is in flight share the next
// one, so that a thousand graphs that are deleted together cost a few reads.
type definition struct {
	mu      sync.Mutex
	next    *definitionRead // the read that has not begun; nil if no caller waits for one
	reading sync.Mutex      // held during a read
}

// definitionRead is one read, and its result once it is done.
type definitionRead struct {
	once        sync.Once
	terminating bool
	err         error
}

// ask returns the result of a read that begins after the call.
func (d *definition) ask(read func() (bool, error)) (bool, error) {
	d.mu.Lock()
	if d.next == nil {
		d.next = &definitionRead{}
	}
	mine := d.next
	d.mu.Unlock()
	mine.once.Do(func() {
		d.reading.Lock()
		defer d.reading.Unlock()
		d.mu.Lock()
		d.next = nil
		d.mu.Unlock()
		mine.terminating, mine.err = read()
	})
	return mine.terminating, mine.err
}

// DefinitionTerminating reports whether the CustomResourceDefinition of
// ResourceGraphs is being deleted, which deletes all graphs. If the applier may not
// read the definition, because its roles are those of an older version, it returns
// false.
func (c *Client) DefinitionTerminating(ctx context.Context) (bool, error) {
	return c.definition.ask(func() (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		raw, err := cluster.ResponseBody(c.raw.Get().
			AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", resource+"."+v1alpha1.Group).
			SetHeader("Accept", metadataOnly).Do(ctx))
		switch {
		case apierrors.IsNotFound(err):
			return true, nil
		case apierrors.IsForbidden(err):
			return false, nil
		case err != nil:
			return false, err
		}
		var answer metav1.PartialObjectMetadata
		err = json.Unmarshal(raw, &answer)
		return answer.DeletionTimestamp != nil, err
	})
}

// NamespaceTerminating reports whether a namespace is known to be deleted. The applier may
// not read namespaces, but it may create Events: the API server refuses that in a namespace
// which is being deleted, also in a dry run.
func (c *Client) NamespaceTerminating(ctx context.Context, namespace string) bool {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	body := []byte(`{"apiVersion":"v1","kind":"Event","metadata":{"generateName":"pequod-"},"involvedObject":{"namespace":"` + namespace + `"}}`)
	err := c.raw.Post().AbsPath("/api/v1/namespaces", namespace, "events").Param("dryRun", metav1.DryRunAll).
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
	return apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
