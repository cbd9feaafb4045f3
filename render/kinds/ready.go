package kinds

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// Subject has the properties of a node's object that decide whether its readiness
// checks can pass.
type Subject struct {
	APIVersion, Kind string
	// ServiceType is spec.type of a Service, or "" if it is not known.
	ServiceType string
}

// readyKinds has the only kinds for which each check can pass; nil means that it may pass for any kind.
var readyKinds = map[v1alpha1.ReadyType][]schema.GroupKind{
	v1alpha1.ReadyDeploymentAvailable: {{Group: "apps", Kind: "Deployment"}, {Group: "extensions", Kind: "Deployment"}},
	v1alpha1.ReadyJobComplete:         {{Group: "batch", Kind: "Job"}},
	v1alpha1.ReadyLoadBalancer:        {{Kind: "Service"}},
	v1alpha1.ReadyConditionMatch:      nil,
	v1alpha1.ReadyExists:              nil,
	v1alpha1.ReadyExpression:          nil,
}

// Ready reports the readiness checks of a node that can never pass for an object
// of its kind. Such a check is an error, because the node would wait until its
// timeout. Exists and expressions may pass for every kind. The paths begin at the
// node.
func (c *Catalog) Ready(s Subject, checks []v1alpha1.ReadyCheck) problem.List {
	var found problem.List
	gv, err := schema.ParseGroupVersion(s.APIVersion)
	if err != nil || s.Kind == "" {
		return nil // Check reports it
	}
	gk := schema.GroupKind{Group: gv.Group, Kind: s.Kind}
	for i, check := range checks {
		add := func(field string, severity problem.Severity, message, hint string) {
			p := newProblem(fmt.Sprintf("readyWhen[%d].%s", i, field), message, hint)
			p.Severity = severity
			found = append(found, *p)
		}
		kinds := readyKinds[check.Type]
		switch {
		case kinds != nil && !slices.Contains(kinds, gk):
			add("type", problem.Error, fmt.Sprintf("%s can't hold for a %s", check.Type, s.Kind), hintFor(gk))
		case check.Type == v1alpha1.ReadyLoadBalancer && s.ServiceType != "" && s.ServiceType != "LoadBalancer":
			add("type", problem.Error, "ServiceLoadBalancerReady can't hold for a Service of type "+s.ServiceType, "make it LoadBalancer, or leave the check out")
		case check.Type == v1alpha1.ReadyConditionMatch:
			severity, message, hint := c.checkCondition(s, gk, check.ConditionType)
			if message != "" {
				add("conditionType", severity, message, hint)
			}
		}
	}
	return found
}

// hintFor returns a hint that names the readiness check for a kind.
func hintFor(gk schema.GroupKind) string {
	switch gk {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		return "use DeploymentAvailable"
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return "use JobComplete"
	}
	return "without readyWhen the node waits for what kstatus calls Current"
}

// checkCondition checks the type of a condition that a node waits for. It returns
// no message if the condition may be set, or is not known.
//
// A kind without status.conditions can't have the condition: an error. A
// condition that Kubernetes' own controllers don't set is only a warning, because
// another controller may set it. Conditions of custom kinds are not known.
func (c *Catalog) checkCondition(s Subject, gk schema.GroupKind, condition string) (problem.Severity, string, string) {
	t, p := c.Lookup(s.APIVersion, s.Kind)
	if p != nil || condition == "" {
		return 0, "", "" // reported elsewhere
	}
	if status := t.Field("status"); status == nil || status.Field("conditions") == nil {
		return problem.Error, "a " + s.Kind + " has no conditions", hintFor(gk)
	}
	known := conditions(gk)
	// Lookup reported an error.
	if custom, _ := c.customOf(gk); custom != nil || known == nil || slices.Contains(known, condition) {
		return 0, "", ""
	}
	if len(known) == 0 {
		return problem.Warning, fmt.Sprintf("Kubernetes sets no conditions on a %s", s.Kind), hintFor(gk)
	}
	return problem.Warning, fmt.Sprintf("%q is no condition that Kubernetes sets on a %s", condition, s.Kind), "it sets " + strings.Join(known, ", ")
}

// conditions returns the conditions that Kubernetes' own controllers set on a
// kind, from the constants of k8s.io/api. It returns nil if they are not known,
// and an empty list if there are none: StatefulSets and DaemonSets have the
// field, and no controller uses it.
func conditions(gk schema.GroupKind) []string {
	switch gk.Group + "/" + gk.Kind {
	case "apps/Deployment":
		return []string{"Available", "Progressing", "ReplicaFailure"}
	case "apps/ReplicaSet", "/ReplicationController":
		return []string{"ReplicaFailure"}
	case "apps/StatefulSet", "apps/DaemonSet":
		return []string{}
	case "autoscaling/HorizontalPodAutoscaler":
		return []string{"AbleToScale", "ScalingActive", "ScalingLimited"}
	case "batch/Job":
		return []string{"Complete", "Failed", "FailureTarget", "SuccessCriteriaMet", "Suspended"}
	case "policy/PodDisruptionBudget":
		return []string{"DisruptionAllowed"}
	case "/Node":
		return []string{"DiskPressure", "MemoryPressure", "NetworkUnavailable", "PIDPressure", "Ready"}
	case "/Namespace":
		return []string{
			"NamespaceContentRemaining", "NamespaceDeletionContentFailure", "NamespaceDeletionDiscoveryFailure",
			"NamespaceDeletionGroupVersionParsingFailure", "NamespaceFinalizersRemaining",
		}
	case "certificates.k8s.io/CertificateSigningRequest":
		return []string{"Approved", "Denied", "Failed"}
	case "apiextensions.k8s.io/CustomResourceDefinition":
		return []string{
			"Established", "KubernetesAPIApprovalPolicyConformant", "NamesAccepted", "NonStructuralSchema", "StorageMigrating", "Terminating",
		}
	}
	return nil
}
