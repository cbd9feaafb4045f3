package graph

import "k8s.io/apimachinery/pkg/runtime/schema"

// ClusterScoped says whether a kind that comes with Kubernetes lies outside of
// namespaces. Of kinds that Kubernetes doesn't have, nothing is known.
//
// The list follows k8s.io/api, apiextensions and the aggregation layer; kinds
// that Kubernetes once had are in it, because older clusters have them.
func ClusterScoped(gk schema.GroupKind) (cluster, known bool) {
	for _, kind := range clusterKinds(gk.Group) {
		if kind == gk.Kind {
			return true, true
		}
	}
	for _, kind := range namespacedKinds(gk.Group) {
		if kind == gk.Kind {
			return false, true
		}
	}
	return false, false
}

func clusterKinds(group string) []string {
	switch group {
	case "":
		return []string{"ComponentStatus", "Namespace", "Node", "PersistentVolume"}
	case "admissionregistration.k8s.io":
		return []string{
			"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
			"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
		}
	case "apiextensions.k8s.io":
		return []string{"CustomResourceDefinition"}
	case "apiregistration.k8s.io":
		return []string{"APIService"}
	case "authentication.k8s.io":
		return []string{"SelfSubjectReview", "TokenReview"}
	case "authorization.k8s.io":
		return []string{"SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"}
	case "certificates.k8s.io":
		return []string{"CertificateSigningRequest", "ClusterTrustBundle"}
	case "flowcontrol.apiserver.k8s.io":
		return []string{"FlowSchema", "PriorityLevelConfiguration"}
	case "internal.apiserver.k8s.io":
		return []string{"StorageVersion"}
	case "networking.k8s.io":
		return []string{"ClusterCIDR", "IPAddress", "IngressClass", "ServiceCIDR"}
	case "node.k8s.io":
		return []string{"RuntimeClass"}
	case "policy":
		return []string{"PodSecurityPolicy"}
	case "rbac.authorization.k8s.io":
		return []string{"ClusterRole", "ClusterRoleBinding"}
	case "resource.k8s.io":
		return []string{"DeviceClass", "DeviceTaintRule", "ResourceClass", "ResourcePoolStatusRequest", "ResourceSlice"}
	case "scheduling.k8s.io":
		return []string{"PriorityClass"}
	case "storage.k8s.io":
		return []string{"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"}
	case "storagemigration.k8s.io":
		return []string{"StorageVersionMigration"}
	}
	return nil
}

func namespacedKinds(group string) []string {
	switch group {
	case "":
		return []string{
			"Binding", "ConfigMap", "Endpoints", "Event", "LimitRange", "PersistentVolumeClaim", "Pod", "PodTemplate",
			"ReplicationController", "ResourceQuota", "Secret", "Service", "ServiceAccount",
		}
	case "apps":
		return []string{"ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"}
	case "authorization.k8s.io":
		return []string{"LocalSubjectAccessReview"}
	case "autoscaling":
		return []string{"HorizontalPodAutoscaler"}
	case "batch":
		return []string{"CronJob", "Job"}
	case "certificates.k8s.io":
		return []string{"PodCertificateRequest"}
	case "coordination.k8s.io":
		return []string{"Lease", "LeaseCandidate"}
	case "discovery.k8s.io":
		return []string{"EndpointSlice"}
	case "events.k8s.io":
		return []string{"Event"}
	case "extensions":
		return []string{"DaemonSet", "Deployment", "Ingress", "NetworkPolicy", "ReplicaSet"}
	case "lifecycle.k8s.io":
		return []string{"Eviction", "EvictionRequest"}
	case "networking.k8s.io":
		return []string{"Ingress", "NetworkPolicy"}
	case "policy":
		return []string{"Eviction", "PodDisruptionBudget"}
	case "rbac.authorization.k8s.io":
		return []string{"Role", "RoleBinding"}
	case "resource.k8s.io":
		return []string{"PodSchedulingContext", "ResourceClaim", "ResourceClaimParameters", "ResourceClaimTemplate", "ResourceClassParameters"}
	case "scheduling.k8s.io":
		return []string{"CompositePodGroup", "PodGroup", "Workload"}
	case "storage.k8s.io":
		return []string{"CSIStorageCapacity"}
	}
	return nil
}

// The kinds whose objects are made known to others by being there.
func isNamespace(gk schema.GroupKind) bool { return gk == schema.GroupKind{Kind: "Namespace"} }

func isCRD(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

func isSecret(gk schema.GroupKind) bool { return gk == schema.GroupKind{Kind: "Secret"} }

// IsSecret reports whether a decoded object is a Secret of the core group.
func IsSecret(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	return object["kind"] == "Secret" && err == nil && gv.Group == ""
}

// OrphanedByDefault says whether an object of this kind stays when its graph
// no longer lists it and no deletion policy says otherwise: with it would go
// what can't be made again.
func OrphanedByDefault(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Kind: "PersistentVolumeClaim"} || isNamespace(gk) || isCRD(gk)
}
