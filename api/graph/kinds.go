package graph

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// builtin has the names of the built-in kinds by API group and scope, separated by
// spaces.
//
// The lists follow k8s.io/api, k8s.io/apiextensions-apiserver and
// k8s.io/kube-aggregator. They include kinds that Kubernetes has removed, because
// older clusters serve them. A test compares them with the typed clients.
var builtin = map[string]struct{ cluster, namespaced string }{
	"": {
		cluster: "ComponentStatus Namespace Node PersistentVolume",
		namespaced: "Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController " +
			"ResourceQuota Secret Service ServiceAccount",
	},
	"admissionregistration.k8s.io": {
		cluster: "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingAdmissionPolicy " +
			"ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
	},
	"apiextensions.k8s.io":         {cluster: "CustomResourceDefinition"},
	"apiregistration.k8s.io":       {cluster: "APIService"},
	"apps":                         {namespaced: "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet"},
	"authentication.k8s.io":        {cluster: "SelfSubjectReview TokenReview"},
	"authorization.k8s.io":         {cluster: "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview", namespaced: "LocalSubjectAccessReview"},
	"autoscaling":                  {namespaced: "HorizontalPodAutoscaler"},
	"batch":                        {namespaced: "CronJob Job"},
	"certificates.k8s.io":          {cluster: "CertificateSigningRequest ClusterTrustBundle", namespaced: "PodCertificateRequest"},
	"coordination.k8s.io":          {namespaced: "Lease LeaseCandidate"},
	"discovery.k8s.io":             {namespaced: "EndpointSlice"},
	"events.k8s.io":                {namespaced: "Event"},
	"extensions":                   {namespaced: "DaemonSet Deployment Ingress NetworkPolicy ReplicaSet"},
	"flowcontrol.apiserver.k8s.io": {cluster: "FlowSchema PriorityLevelConfiguration"},
	"internal.apiserver.k8s.io":    {cluster: "StorageVersion"},
	"lifecycle.k8s.io":             {namespaced: "Eviction EvictionRequest"},
	"networking.k8s.io":            {cluster: "ClusterCIDR IPAddress IngressClass ServiceCIDR", namespaced: "Ingress NetworkPolicy"},
	"node.k8s.io":                  {cluster: "RuntimeClass"},
	"policy":                       {cluster: "PodSecurityPolicy", namespaced: "Eviction PodDisruptionBudget"},
	"rbac.authorization.k8s.io":    {cluster: "ClusterRole ClusterRoleBinding", namespaced: "Role RoleBinding"},
	"resource.k8s.io": {
		cluster:    "DeviceClass DeviceTaintRule ResourceClass ResourcePoolStatusRequest ResourceSlice",
		namespaced: "PodSchedulingContext ResourceClaim ResourceClaimParameters ResourceClaimTemplate ResourceClassParameters",
	},
	"scheduling.k8s.io":       {cluster: "PriorityClass", namespaced: "CompositePodGroup PodGroup Workload"},
	"storage.k8s.io":          {cluster: "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass", namespaced: "CSIStorageCapacity"},
	"storagemigration.k8s.io": {cluster: "StorageVersionMigration"},
}

// clusterScopes maps the built-in kinds to whether they are cluster-scoped. It is
// built on first use.
var clusterScopes = sync.OnceValue(func() map[schema.GroupKind]bool {
	scopes := map[schema.GroupKind]bool{}
	for group, kinds := range builtin {
		for kind := range strings.FieldsSeq(kinds.cluster) {
			scopes[schema.GroupKind{Group: group, Kind: kind}] = true
		}
		for kind := range strings.FieldsSeq(kinds.namespaced) {
			scopes[schema.GroupKind{Group: group, Kind: kind}] = false
		}
	}
	return scopes
})

// ClusterScoped reports whether a built-in kind is cluster-scoped. known is false
// for kinds that are not built into Kubernetes.
func ClusterScoped(gk schema.GroupKind) (cluster, known bool) {
	cluster, known = clusterScopes()[gk]
	return cluster, known
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
