package objectdiff

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/internal/problem"
)

// The rules of warnings about changes that the author may not have intended. A
// warning is a problem of severity Warning. It has a rule, a message and,
// unless it is about the whole object, a path.
const (
	RuleImmutable = "immutable" // a field that the API server doesn't let change
	RuleLoss      = "loss"      // data, an address or objects that are gone afterwards
	RuleRenamed   = "renamed"   // an object that seems to go on under another name
	RuleSelector  = "selector"  // Pods that a selector no longer finds
	RuleScale     = "scale"     // nothing runs any more
	RuleOrphan    = "orphan"    // an object that is left behind
	RuleRefused   = "refused"   // what an apply would fail of
	RuleUnchecked = "unchecked" // an object of which the API server can't be asked yet
	RuleTaken     = "taken"     // fields, or an object, that are taken from others
)

// warningText returns a warning as one line without its severity.
func warningText(w problem.Problem) string {
	if w.Path == "" {
		return w.Message
	}
	return w.Path + ": " + w.Message
}

// warn looks at every object of a diff.
func warn(d *Diff, after, before []Object) {
	for i := range d.Objects {
		o := &d.Objects[i]
		switch o.Action {
		case Modify:
			immutables(o)
			storage(o)
			scaled(o)
			selected(o, after, before)
		case Remove:
			removed(o)
		}
	}
	renamed(d)
	for i := range d.Objects {
		slices.SortStableFunc(d.Objects[i].Warnings, func(a, b problem.Problem) int {
			return cmp.Compare(a.Path, b.Path)
		})
	}
}

// removed warns of what goes with an object, or stays without it.
func removed(o *ObjectDiff) {
	if o.old.policy.orphaned {
		o.warn(RuleOrphan, "", "is not deleted: it stays in the cluster without an owner")
		return
	}
	retention, _ := get(o.old.body, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted").(string)
	switch {
	case o.is("", "PersistentVolumeClaim"):
		o.warn(RuleLoss, "", "the data of the volume is lost, unless the volume's reclaim policy is Retain")
	case o.is("", "PersistentVolume"):
		o.warn(RuleLoss, "", "the volume can't be claimed any more")
	case o.is("", "Namespace"):
		o.warn(RuleLoss, "", "everything in the namespace is deleted")
	case o.is("apiextensions.k8s.io", "CustomResourceDefinition"):
		kind, _ := get(o.old.body, "spec", "names", "kind").(string)
		o.warn(RuleLoss, "", "every object of kind %s is deleted", cmp.Or(kind, "this definition"))
	case o.is("apps", "StatefulSet") && retention == "Delete":
		o.warn(RuleLoss, "", "its volumes are deleted: spec.persistentVolumeClaimRetentionPolicy.whenDeleted is Delete")
	case o.is("apps", "StatefulSet") && get(o.old.body, "spec", "volumeClaimTemplates") != nil:
		o.warn(RuleOrphan, "", "the claims of its volumes stay in the cluster")
	case o.is("", "Service") && get(o.old.body, "spec", "type") == "LoadBalancer":
		o.warn(RuleLoss, "", "the load balancer is removed, and its address is lost")
	case o.is("", "Secret") && generated(o.old.body):
		o.warn(RuleLoss, "", "values that were generated in the cluster are lost")
	}
}

func generated(v any) bool {
	switch v := v.(type) {
	case late:
		return v.key == reference.GenerateKey
	case map[string]any:
		for _, item := range v {
			if generated(item) {
				return true
			}
		}
	}
	return false
}

// storage warns of claims that shrink, and of claim templates that go.
func storage(o *ObjectDiff) {
	for _, c := range o.Changes {
		switch {
		case o.is("", "PersistentVolumeClaim") && c.Path.under("spec.resources.requests.storage"):
			if shrinks(c.old, c.new) {
				o.warn(RuleImmutable, c.Path.String(), "%s", o.anew("a volume can't shrink", "the new one starts empty"))
			}
		case o.is("apps", "StatefulSet") && c.Path.under("spec.volumeClaimTemplates"):
			switch {
			case c.Action == Remove:
				o.warn(RuleLoss, c.Path.String(), "Pods lose the volume; the claims stay in the cluster")
			case c.Path.last() == "storage" && shrinks(c.old, c.new):
				o.warn(RuleLoss, c.Path.String(), "a volume can't shrink: claims that exist keep their size")
			}
		}
	}
}

func shrinks(a, b any) bool {
	x, ok := a.(string)
	y, ok2 := b.(string)
	if !ok || !ok2 {
		return false
	}
	p, err := resource.ParseQuantity(x)
	if err != nil {
		return false
	}
	q, err := resource.ParseQuantity(y)
	return err == nil && q.Cmp(p) < 0
}

// scaled warns of workloads that end.
func scaled(o *ObjectDiff) {
	if !o.is("apps", "Deployment", "StatefulSet", "ReplicaSet") && !o.is("", "ReplicationController") {
		return
	}
	for _, c := range o.Changes {
		if c.Path.under("spec.replicas") && equal(c.new, int64(0)) {
			o.warn(RuleScale, "spec.replicas", "nothing runs any more")
		}
	}
}

// get follows keys of maps.
func get(v any, keys ...string) any {
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}
