package objectdiff

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/internal/jsonvalue"
)

// warnRemoved warns about data and objects that are lost together with a removed
// object, and about objects that stay in the cluster without an owner. o.old must
// not be nil. The rules follow the garbage collection and the controllers of
// Kubernetes. Kinds from CRDs get no warning, since their effects are unknown.
func warnRemoved(o *ObjectDiff) {
	if kept := o.old.policy.kept; kept != "" {
		o.warn(RuleOrphan, "", "is not deleted (%s): it stays in the cluster without an owner", kept)
		return
	}
	if o.old.policy.orphaned {
		o.warn(RuleOrphan, "", "is not deleted: it stays in the cluster without an owner")
		return
	}
	retention, _ := jsonvalue.Field(o.old.body, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted").(string)
	// At most one of the cases applies to a kind.
	switch {
	case o.is("", "PersistentVolumeClaim"):
		o.warn(RuleLoss, "", "the data of the volume is lost, unless the volume's reclaim policy is Retain")
	case o.is("", "PersistentVolume"):
		o.warn(RuleLoss, "", "the volume can't be claimed any more")
	case o.is("", "Namespace"):
		o.warn(RuleLoss, "", "everything in the namespace is deleted")
	case o.is("apiextensions.k8s.io", "CustomResourceDefinition"):
		kind, _ := jsonvalue.Field(o.old.body, "spec", "names", "kind").(string)
		o.warn(RuleLoss, "", "every object of kind %s is deleted", cmp.Or(kind, "this definition"))
	case o.is("apps", "StatefulSet") && retention == "Delete":
		o.warn(RuleLoss, "", "its volumes are deleted: spec.persistentVolumeClaimRetentionPolicy.whenDeleted is Delete")
	case o.is("apps", "StatefulSet") && jsonvalue.Field(o.old.body, "spec", "volumeClaimTemplates") != nil:
		o.warn(RuleOrphan, "", "the claims of its volumes stay in the cluster")
	case o.is("", "Service") && jsonvalue.Field(o.old.body, "spec", "type") == "LoadBalancer":
		o.warn(RuleLoss, "", "the load balancer is removed, and its address is lost")
	case o.is("", "Secret") && hasGenerated(o.old.body):
		o.warn(RuleLoss, "", "values that were generated in the cluster are lost")
	}
}

// hasGenerated reports whether v contains a value that is generated in the
// cluster. Lists are not searched: the values of a Secret are in maps.
func hasGenerated(v any) bool {
	switch v := v.(type) {
	case late:
		return v.key == reference.GenerateKey
	case map[string]any:
		for _, item := range v {
			if hasGenerated(item) {
				return true
			}
		}
	}
	return false
}

// warnStorage warns of volume claims that shrink and of claim templates that are
// removed. The request of a claim may grow, so the table of immutable fields does
// not have it. A recreated StatefulSet keeps the claims that exist, so a changed
// claim template applies to new claims only.
func warnStorage(o *ObjectDiff) {
	for _, c := range o.Changes {
		switch {
		case o.is("", "PersistentVolumeClaim") && c.Path.under("spec.resources.requests.storage"):
			if shrinks(c.old, c.new) {
				o.warn(RuleImmutable, c.Path.String(), "%s", o.notUntilRecreated("a volume can't shrink", "the new one starts empty"))
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

// shrinks reports whether a and b are quantities and b is the smaller one. For
// values that cannot be parsed, it returns false; the API server reports those.
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

// warnScaledToZero warns of workloads that will have no Pods.
func warnScaledToZero(o *ObjectDiff) {
	if !o.is("apps", "Deployment", "StatefulSet", "ReplicaSet") && !o.is("", "ReplicationController") {
		return
	}
	for _, c := range o.Changes {
		if c.Path.under("spec.replicas") && c.new == int64(0) {
			o.warn(RuleScale, "spec.replicas", "nothing runs any more")
		}
	}
}
