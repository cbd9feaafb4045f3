package kinds

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Subject is what is known of the object that a node's readiness is about.
type Subject struct {
	APIVersion, Kind string
	// ServiceType is spec.type of a Service, "" where it is not known.
	ServiceType string
}

// Ready says which checks of a node can't pass for an object of its kind. Their
// paths begin at the node.
func (c *Catalog) Ready(s Subject, checks []v1alpha1.ReadyCheck) []Problem {
	var found []Problem
	gv, err := schema.ParseGroupVersion(s.APIVersion)
	if err != nil || s.Kind == "" {
		return nil // told where the object is checked
	}
	gk := schema.GroupKind{Group: gv.Group, Kind: s.Kind}
	for i, check := range checks {
		add := func(level Level, message, hint string) {
			found = append(found, Problem{Path: reference.Path{"readyWhen", i, "type"}, Message: message, Hint: hint, Level: level})
		}
		switch check.Type {
		case v1alpha1.ReadyDeploymentAvailable:
			if gk.Kind != "Deployment" || gk.Group != "apps" && gk.Group != "extensions" {
				add(Error, "DeploymentAvailable can't hold for a "+s.Kind, instead(gk))
			}
		case v1alpha1.ReadyJobComplete:
			if gk != (schema.GroupKind{Group: "batch", Kind: "Job"}) {
				add(Error, "JobComplete can't hold for a "+s.Kind, instead(gk))
			}
		case v1alpha1.ReadyLoadBalancer:
			if gk != (schema.GroupKind{Kind: "Service"}) {
				add(Error, "ServiceLoadBalancerReady can't hold for a "+s.Kind, instead(gk))
			} else if s.ServiceType != "" && s.ServiceType != "LoadBalancer" {
				add(Error, "ServiceLoadBalancerReady can't hold for a Service of type "+s.ServiceType, "make it LoadBalancer, or leave the check out")
			}
		case v1alpha1.ReadyConditionMatch:
			level, message, hint := c.condition(s, gk, check.ConditionType)
			if message != "" {
				found = append(found, Problem{
					Path: reference.Path{"readyWhen", i, "conditionType"}, Message: message, Hint: hint, Level: level,
				})
			}
		case v1alpha1.ReadyExists, v1alpha1.ReadyExpression:
		}
	}
	return found
}

// instead is the check that was probably meant for a kind.
func instead(gk schema.GroupKind) string {
	switch gk {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		return "use DeploymentAvailable"
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return "use JobComplete"
	}
	return "without readyWhen the node waits for what kstatus calls Current"
}

// condition judges the type of a condition that is waited for.
func (c *Catalog) condition(s Subject, gk schema.GroupKind, condition string) (Level, string, string) {
	t, problem := c.Lookup(s.APIVersion, s.Kind)
	if problem != nil || condition == "" {
		return 0, "", "" // told elsewhere
	}
	if status := t.Field("status"); status == nil || status.Field("conditions") == nil {
		return Error, "a " + s.Kind + " has no conditions", instead(gk)
	}
	known := conditions(gk)
	if c.custom[gk] != nil || known == nil || slices.Contains(known, condition) {
		return 0, "", ""
	}
	if len(known) == 0 {
		return Warning, fmt.Sprintf("Kubernetes sets no conditions on a %s", s.Kind), instead(gk)
	}
	return Warning, fmt.Sprintf("%q is no condition that Kubernetes sets on a %s", condition, s.Kind), "it sets " + strings.Join(known, ", ")
}

// conditions lists what Kubernetes' own controllers set on a kind, after the
// constants of k8s.io/api; nil where that isn't known.
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
