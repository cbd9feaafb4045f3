package graph

import "k8s.io/apimachinery/pkg/runtime/schema"

// ClusterScoped reports whether a built-in kind is cluster-scoped. known is false
// for kinds that are not built into Kubernetes.
//
// The lists follow k8s.io/api, k8s.io/apiextensions-apiserver and
// k8s.io/kube-aggregator. They include kinds that Kubernetes has removed, because
// older clusters serve them. A test compares them with the typed clients.
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

// clusterKinds returns the cluster-scoped kinds of a built-in API group.
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

// namespacedKinds returns the namespaced kinds of a built-in API group.
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

// isNamespace reports whether gk is the kind Namespace.
func isNamespace(gk schema.GroupKind) bool { return gk == schema.GroupKind{Kind: "Namespace"} }

// isCRD reports whether gk is the kind CustomResourceDefinition.
func isCRD(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// isSecret reports whether gk is the kind Secret.
func isSecret(gk schema.GroupKind) bool { return gk == schema.GroupKind{Kind: "Secret"} }

// IsSecret reports whether a decoded object is a Secret of the core group. Kinds
// of the same name in other groups are not Secrets.
func IsSecret(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	return object["kind"] == "Secret" && err == nil && gv.Group == ""
}

// OrphanedByDefault reports whether objects of a kind are orphaned rather than
// deleted when they leave their graph, unless their node has its own deletion
// policy. Deleting them would delete data or other objects that cannot be
// recreated from the graph. Deleting a PersistentVolumeClaim may delete its
// volume, deleting a Namespace deletes everything in it, and deleting a
// CustomResourceDefinition deletes all resources of the kind.
func OrphanedByDefault(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Kind: "PersistentVolumeClaim"} || isNamespace(gk) || isCRD(gk)
}
