package controller

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/graphs"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/stored"
)

// past describes earlier executions of a graph.
type past int

const (
	executedBefore past = iota // the graph has an inventory, or its execution began in this process
	neverApplied               // no applier has executed the graph before
	inventoryLost              // one has, or began to, but there is no inventory
)

// inputs are the part of the prerequisites that a run keeps.
type inputs struct {
	graph *v1alpha1.ResourceGraph
	// terminating is set if the namespace of the graph is known to be deleted, with the
	// rights of the account and all objects in it.
	terminating bool

	inventories *stored.Store // as the graph's account
	inventory   *inventory.Inventory
	past        past
}

// prerequisites has the objects that a run reads before it begins.
type prerequisites struct {
	inputs
	version string // of the graph; newer than graph if the finalizer was added

	account share.Account
	home    *cluster.Client // acts as the account in the cluster of the graph
	client  *cluster.Client // acts as the account in the cluster of the objects
	// destination is the cluster of the objects, and cluster its UID, if that isn't the
	// cluster of the graph. Secret has the kubeconfig.
	destination *destination
	cluster     string
	secret      *kubeConfigSecret
	// message explains why there is no client, and is empty if there is one. A graph
	// that is being deleted is then abandoned: its objects stay. Any other graph is
	// stalled for reason until it is changed or its account is created.
	reason, message string
}

// readPrerequisites reads what a run needs, and adds the finalizer to a graph
// that is to be executed. Graph is nil if it has to be read. The inventory of a new
// graph is nil: lookUp reads it. With an error, the
// result may be non-nil and has at least the graph and its past: the finalizer may
// have been added although the answer was lost.
func (s *services) readPrerequisites(
	ctx context.Context, owner inventory.Owner, v verb, graph *v1alpha1.ResourceGraph,
) (*prerequisites, error) {
	var err error
	if graph == nil {
		if graph, err = s.graphs.Get(ctx, types.NamespacedName(owner)); err != nil {
			return nil, err
		}
	}
	p := &prerequisites{inputs: inputs{graph: graph}, version: graph.ResourceVersion}
	if v == verbSuspend {
		return p, nil // nothing but the status is written
	}
	if v == verbDelete || v == verbOrphan {
		// Deleting the definition deletes all graphs. That is an accident more often
		// than a decision to delete all workloads of the cluster.
		terminating, err := s.graphs.DefinitionTerminating(ctx)
		if err != nil {
			return nil, err
		}
		if terminating {
			p.message = "the CustomResourceDefinition of ResourceGraphs is being deleted"
			return p, nil
		}
		if s.Operator != nil && s.Operator.Lost != nil {
			if p.message, err = s.Operator.Lost(ctx, graph); err != nil || p.message != "" {
				return p, err
			}
		}
	}
	// Before objects are deleted as an account, it is verified that it exists.
	if err := s.findAccount(ctx, p, v != verbExecute); err != nil || p.reason != "" {
		return p, err
	}
	if err := s.findDestination(ctx, p); err != nil || p.secret != nil {
		return p, err // what is left follows when it is known which cluster it is
	}
	return p, s.readInventory(ctx, p, v)
}

// readInventory is the second part of readPrerequisites.
func (s *services) readInventory(ctx context.Context, p *prerequisites, v verb) error {
	p.inventories = stored.New(p.home.REST())
	if p.destination != nil && v == verbExecute {
		if err := p.refuseRecorded(ctx); err != nil || p.reason != "" {
			return err
		}
	}
	known := graphs.HasFinalizer(p.graph)
	if v == verbExecute && (!known || p.graph.Annotations[v1alpha1.AnnotationCluster] != p.cluster) {
		if !known {
			p.past = neverApplied
		}
		updated, version, err := s.graphs.AddFinalizer(ctx, p.graph, p.cluster)
		if err != nil {
			return err
		}
		p.graph, p.version = updated, version
		// An applier that led before may have added it meanwhile, and created objects.
		if known = graphs.HasFinalizer(updated); known {
			p.past = executedBefore
		}
	}
	if p.past == neverApplied && p.graph.Status.Inventory == nil {
		// It has an inventory only if pequod apply has stored one. See lookUp.
		return nil
	}
	return p.load(ctx, known)
}

// load reads the inventory. Known is set if an applier has executed the graph before.
func (p *prerequisites) load(ctx context.Context, known bool) (err error) {
	if p.inventory, err = p.inventories.LoadOf(ctx, p.graph); err != nil {
		return err
	}
	switch {
	case p.inventory.Revision != "":
		p.past = executedBefore
	case known:
		p.past = inventoryLost
	default:
		p.past = neverApplied
	}
	return nil
}

// findAccount finds the client that acts as the graph's account. If there is
// none, it sets the reason.
func (s *services) findAccount(ctx context.Context, p *prerequisites, verify bool) error {
	a := share.Account{Namespace: p.graph.Namespace, Name: p.graph.Spec.ServiceAccountName}
	switch {
	case a.Name != "":
	case s.Operator != nil:
		var err error
		if a, err = s.operatorAccount(p, verify); err != nil || p.reason != "" {
			return err
		}
	case s.DefaultServiceAccount != "":
		a.Name = s.DefaultServiceAccount
	default:
		p.reason = reasonNoAccount
		p.message = "spec.serviceAccountName is empty, and the applier has no default (--default-service-account)"
		return nil
	}
	client, err := s.share.Client(ctx, a, verify)
	if err != nil {
		return err
	}
	p.account, p.home, p.client = a, client, client
	if client == nil {
		p.reason = reasonAccountMissing
		p.message = fmt.Sprintf("service account %s of namespace %s doesn't exist", a.Name, a.Namespace)
	}
	return nil
}

// operatorAccount returns the account of a graph that pequod-manager made, or sets the reason.
// A graph that is to be deleted waits while the account may not be used: without an
// account its objects would be left.
func (s *services) operatorAccount(p *prerequisites, deleting bool) (share.Account, error) {
	if s.Operator.Refused != nil {
		if why := s.Operator.Refused(); why != "" {
			if deleting {
				return share.Account{}, errors.New(why)
			}
			p.reason, p.message = reasonAccountRefused, why
			return share.Account{}, nil
		}
	}
	a, err := s.Operator.Account(p.graph)
	if err != nil {
		p.reason, p.message = reasonNoAccount, err.Error()
		return share.Account{}, nil
	}
	return share.Account{Namespace: a.Namespace, Name: a.Name}, nil
}

// findDestination finds the cluster of a graph's objects, if that isn't the cluster of the
// graph. The Secret is read as the graph's account. If the cluster can't be used, it sets
// the reason.
func (s *services) findDestination(ctx context.Context, p *prerequisites) error {
	if p.graph.Spec.KubeConfig == nil || p.client == nil {
		return nil
	}
	ref := clusterOf(p.graph)
	p.client, p.secret = nil, &kubeConfigSecret{ref: ref, home: p.home}
	if s.Operator != nil {
		p.reason, p.message = reasonKubeConfigRefused, "pequod-manager doesn't execute graphs with spec.kubeConfig; only pequod-applier does"
		return nil
	}
	secret, err := p.home.Get(ctx, secretKey(p.graph.Namespace, ref), "v1")
	if err != nil {
		if f := cluster.Classify(err); f.Reason == engine.ReasonForbidden {
			p.reason = reasonKubeConfigRefused
			p.message = fmt.Sprintf("service account %s may not get Secret %s, which spec.kubeConfig names", p.account.Name, ref.Name)
			return nil
		}
		return err
	}
	data := kubeConfigIn(secret, ref)
	p.secret.digest = digestOfKubeConfig(data)
	switch {
	case secret == nil:
		p.reason, p.message = reasonKubeConfigMissing, fmt.Sprintf("Secret %s, which spec.kubeConfig names, doesn't exist", ref.Name)
		return nil
	case data == nil && ref.Key != "":
		p.reason, p.message = reasonKubeConfigMissing, fmt.Sprintf("Secret %s, which spec.kubeConfig names, has no value of the key %s", ref.Name, ref.Key)
		return nil
	case data == nil:
		p.reason, p.message = reasonKubeConfigMissing, fmt.Sprintf("Secret %s, which spec.kubeConfig names, has no value of the keys value and value.yaml", ref.Name)
		return nil
	}
	d, err := s.destinations.get(p.graph.Namespace, ref, data)
	if err != nil {
		p.reason, p.message = reasonKubeConfigInvalid, fmt.Sprintf("the kubeconfig in Secret %s: %v", ref.Name, err)
		return nil
	}
	client, err := d.share.Client(ctx, p.account, false)
	if err != nil {
		return err
	}
	p.destination, p.client = d, client
	return nil
}

// unusable records that the cluster of the objects can't be used.
func (p *prerequisites) unusable(reason, message string) {
	p.destination, p.client = nil, nil
	p.reason, p.message = reason, message
}

// refuseRecorded refuses a new graph whose objects are to be in another cluster, if pequod
// apply has recorded objects of it in this one: they would be taken for objects there.
func (p *prerequisites) refuseRecorded(ctx context.Context) error {
	if graphs.HasFinalizer(p.graph) || p.graph.Status.Inventory != nil {
		return nil
	}
	recorded, err := p.inventories.LoadOf(ctx, p.graph)
	if err == nil && recorded.Revision != "" {
		p.unusable(reasonClusterChanged, "pequod apply has applied the graph in this cluster; delete its objects with pequod delete first")
	}
	return err
}
