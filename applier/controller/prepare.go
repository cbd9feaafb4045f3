package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
)

// prepared is what a run needs before it begins.
type prepared struct {
	graph   *v1alpha1.ResourceGraph
	version string
	client  *cluster.Client
	account string
	stored  *inventory.Inventory
	fresh   bool
	// reason and message say why the run can't begin before somebody changes something.
	reason, message string
	gone            bool // there is no such account
}

// prepare reads what isn't known and puts the finalizer there.
func (r *run) prepare() {
	graph := r.d.graph
	r.d.c.share.Begin(r.d, r.counted(func(ctx context.Context) func() {
		p, err := r.d.c.prepare(ctx, r.d, r.goal.verb, graph)
		return func() { r.prepared(p, err) }
	}))
}

func (c *controller) prepare(ctx context.Context, d *driver, v verb, graph *v1alpha1.ResourceGraph) (*prepared, error) {
	p := &prepared{graph: graph}
	if graph == nil {
		read, err := c.read(ctx, d.key)
		if err != nil {
			return nil, err
		}
		p.graph = read
	}
	p.version = p.graph.ResourceVersion
	if v == halt {
		return p, nil
	}
	if err := c.resolveAccount(ctx, p, v != execute); err != nil || p.reason != "" {
		return p, err
	}
	known := headOf(p.graph).finalizer
	if v == execute && !known {
		if err := c.hold(ctx, p); err != nil {
			return nil, err
		}
	}
	if err := c.loadInventory(ctx, p); err != nil {
		return nil, err
	}
	p.fresh = !known && p.stored.Revision == ""
	return p, nil
}

// hold adds the finalizer to a graph. One that was changed since it was read is
// read again.
func (c *controller) hold(ctx context.Context, p *prepared) error {
	for range 5 {
		version, err := c.finalize(ctx, p.graph, true)
		if !apierrors.IsConflict(err) {
			p.version = version
			return err
		}
		uid := p.graph.UID
		if p.graph, err = c.read(ctx, keyOf(p.graph)); err != nil {
			return err
		}
		if p.version = p.graph.ResourceVersion; p.graph.UID != uid || headOf(p.graph).finalizer {
			return nil
		}
	}
	return errBusy
}

// errBusy says that others leave no time to write.
var errBusy = errors.New("the graph changes faster than it can be written")

// requestTimeout bounds every request about a graph itself: what isn't answered
// would otherwise be waited for as long as the connection lives.
const requestTimeout = 30 * time.Second

func (c *controller) read(ctx context.Context, key types.NamespacedName) (*v1alpha1.ResourceGraph, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	rg := &v1alpha1.ResourceGraph{}
	err := c.graphs.Get().Resource("resourcegraphs").Namespace(key.Namespace).Name(key.Name).Do(ctx).Into(rg)
	rg.ManagedFields = nil
	return rg, err
}

// resolveAccount finds the client of the graph's account.
func (c *controller) resolveAccount(ctx context.Context, p *prepared, surely bool) error {
	a := share.Account{Namespace: p.graph.Namespace, Name: p.graph.Spec.ServiceAccountName}
	if a.Name == "" {
		a.Name = c.DefaultServiceAccount
	}
	if a.Name == "" {
		p.reason, p.message = reasonNoAccount, "spec.serviceAccountName is empty, and the applier has no default (--default-service-account)"
		p.gone = true
		return nil
	}
	client, err := c.share.Client(ctx, a, surely)
	if err != nil {
		return err
	}
	if p.account = a.Name; client == nil {
		p.reason, p.message = reasonAccountMissing, fmt.Sprintf("service account %s of namespace %s doesn't exist", a.Name, a.Namespace)
		p.gone = true
		return nil
	}
	p.client = client
	return nil
}

// loadInventory takes the inventory from the status. Where the status has none,
// the graph may have been executed from outside, by an inventory in a ConfigMap.
func (c *controller) loadInventory(ctx context.Context, p *prepared) error {
	owner := inventory.Owner{Namespace: p.graph.Namespace, Name: p.graph.Name}
	in := p.graph.Status.Inventory
	if in != nil && in.ConfigMap == "" {
		p.stored = inventory.OfStatus(owner, in)
		return nil
	}
	stored, err := configmap.NewStore(p.client.REST()).Load(ctx, owner)
	if apierrors.IsForbidden(err) && in == nil {
		// An account that may not read ConfigMaps has never kept one here.
		stored, err = &inventory.Inventory{Owner: owner}, nil
	}
	p.stored = stored
	return err
}

// finalize adds the finalizer to a graph, or takes it away. It returns the new
// version of the graph.
func (c *controller) finalize(ctx context.Context, rg *v1alpha1.ResourceGraph, add bool) (string, error) {
	kept := []string{}
	for _, f := range rg.Finalizers {
		if f != v1alpha1.Finalizer {
			kept = append(kept, f)
		}
	}
	if add {
		kept = append(kept, v1alpha1.Finalizer)
	}
	patch := map[string]any{"metadata": map[string]any{
		"uid": rg.UID, "resourceVersion": rg.ResourceVersion, "finalizers": kept,
	}}
	return c.patch(ctx, rg.Namespace, rg.Name, patch)
}

// patch merges a patch into a graph or its status. The answer is only metadata:
// a graph may be large.
func (c *controller) patch(ctx context.Context, namespace, name string, patch any, subresource ...string) (string, error) {
	body, err := json.Marshal(patch)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	raw, err := cluster.ResponseBody(c.own.REST().Patch("application/merge-patch+json").
		AbsPath("/apis/"+v1alpha1.GroupVersion.String(), "namespaces", namespace, "resourcegraphs", name).Suffix(subresource...).
		Param("fieldManager", "pequod-applier").
		SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").
		Body(body).Do(ctx))
	if err != nil {
		return "", err
	}
	var answer metav1.PartialObjectMetadata
	err = json.Unmarshal(raw, &answer)
	return answer.ResourceVersion, err
}
