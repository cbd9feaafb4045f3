package controller

import (
	"context"
	"fmt"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/graphs"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/resourceversion"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
	"github.com/pequod-io/pequod/inventory/stored"
)

// The methods here are those of phase preparing.

// prepare reads the prerequisites of the run. Graph is nil if it has to be read.
func (r *run) prepare(graph *v1alpha1.ResourceGraph) {
	r.requests.begin(func(ctx context.Context) func() {
		p, err := r.readPrerequisites(ctx, r.host.Owner(), r.goal.verb, graph)
		if err == nil && r.lackedRights {
			p.terminating = r.graphs.NamespaceTerminating(ctx, p.graph.Namespace)
		}
		return func() {
			if err == nil && p.destination != nil && !r.ended() {
				r.identify(p)
				return
			}
			r.complete(p, err)
		}
	})
}

// complete takes the prerequisites of the run, if a new graph's inventory isn't still to be
// looked up.
func (r *run) complete(p *prerequisites, err error) {
	if err == nil && p.client != nil && p.inventory == nil && !r.ended() {
		r.noteUnrecorded(p)
		r.lookUp(p)
		return
	}
	r.prepared(p, err)
}

// identify continues the preparation of a run in another cluster once it is known which
// one that is. Without that, a kubeconfig that leads to another cluster than before would
// leave the objects behind in the former one.
func (r *run) identify(p *prerequisites) {
	r.requests.add()
	p.destination.identify(func(uid string, err error) {
		r.requests.answer(func() {
			switch was := p.graph.Annotations[v1alpha1.AnnotationCluster]; {
			case r.ended():
			case err != nil:
				p.client, p.reason = nil, reasonClusterUnavailable
				p.message = "the cluster of Secret " + p.secret.ref.Name + " can't be identified: " + cluster.Classify(err).Error()
				if away := cluster.Unreachable(err); away != nil {
					p.message = away.Error()
				}
				r.prepared(p, nil)
			case graphs.HasFinalizer(p.graph) && was != "" && was != uid:
				p.unusable(reasonClusterChanged, fmt.Sprintf(
					"the kubeconfig in Secret %s leads to another cluster (UID of kube-system %s) than the one with the graph's objects (%s)", p.secret.ref.Name, uid, was))
				r.prepared(p, nil)
			default:
				p.cluster = uid
				r.requests.start(func(ctx context.Context) func() {
					err := r.readInventory(ctx, p, r.goal.verb)
					return func() { r.complete(p, err) }
				})
			}
		})
	})
}

// noteUnrecorded notes that the run has begun to execute a graph that was never
// applied, even if it can't read the other prerequisites.
func (r *run) noteUnrecorded(p *prerequisites) {
	if p != nil && p.past == neverApplied {
		r.host.setUnrecorded(p.graph.UID)
	}
}

// lookUp reads the inventory of a new graph, if it has one. Many graphs that are
// created together share one read that finds out which of them have one.
func (r *run) lookUp(p *prerequisites) {
	r.requests.add()
	r.share.Index(p.account, p.graph.Namespace, p.home, func(index configmap.Index, err error) {
		r.requests.answer(func() {
			switch {
			case r.ended():
			case err != nil:
				r.fail(err)
			case index.MayHave(r.host.Owner()):
				r.requests.start(func(ctx context.Context) func() {
					err := p.load(ctx, false)
					return func() { r.prepared(p, err) }
				})
			default:
				p.inventory = stored.None(p.graph)
				r.prepared(p, nil)
			}
		})
	})
}

// prepared takes the prerequisites of the run.
func (r *run) prepared(p *prerequisites, err error) {
	if r.ended() {
		return
	}
	r.noteUnrecorded(p)
	if err != nil {
		r.fail(err)
		return
	}
	if resourceversion.Older(p.version, r.host.version()) || p.graph.UID != r.goal.uid {
		// A newer graph was seen than the one that was read.
		r.end()
		r.host.restart()
		return
	}
	// The graph isn't kept by the driver: the run has it now.
	r.host.graphRead(p.version)
	r.host.setAccount(p.account, p.destination)
	r.host.watchSecret(p.secret)
	r.inputs, r.status.stored = p.inputs, p.graph.Status
	if r.terminating && r.inventory != nil && p.destination == nil {
		r.inventory = r.inventory.Outside(p.graph.Namespace) // the others go with the namespace
	}
	if owned, ok := r.host.unrecordedGraph(p.graph.UID); ok && r.past == inventoryLost {
		r.past, r.inventory.Entries = executedBefore, owned
	}
	r.executor = newExecutor(r.services, p.client, &handOvers{
		services: r.services, owner: r.host.Owner(), destination: p.destination, known: map[inventory.Owner]claimant{},
		report: func(a engine.Action, to *v1alpha1.ResourceGraph) { r.host.post(func() { r.report.handedOver(a, to) }) },
	}, r.began)
	r.recordConditions()
	r.report.begin(p.graph, p.inventory, r.base().Cause(r.host.resuming()))
	switch {
	case r.goal.verb == verbSuspend:
		r.suspend()
	case p.client == nil && r.deleting() && (p.graph.Spec.KubeConfig == nil || p.reason == "" || r.goal.verb == verbOrphan):
		r.orphan(p.message)
	case p.reason != "":
		r.stall(p.reason, p.message)
	}
}
