package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Transform binds a CUE module to the API kind that is generated from it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=pequod
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="CRD",type=string,JSONPath=`.status.generatedCRD`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Transform struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TransformSpec   `json:"spec"`
	Status TransformStatus `json:"status,omitzero"`
}

// TransformSpec selects a CUE module and names the kind that is generated from it.
type TransformSpec struct {
	// cueRef is the module.
	CueRef CueRef `json:"cueRef"`

	// group is the API group of the generated kind. Defaults to the group in the
	// module's #Platform, then to pequod.io.
	Group string `json:"group,omitempty"`
	// version is the storage version of the generated kind. Defaults to the
	// version in the module's #Platform, then to v1alpha1. If the module defines
	// #Versions, version must be the version that it stores.
	Version string `json:"version,omitempty"`
	// kind is the name of the generated kind, in CamelCase. Defaults to the kind
	// in the module's #Platform, then to the Transform's name in CamelCase.
	Kind string `json:"kind,omitempty"`
	// plural is the plural name of the generated kind, in lower case. Defaults to
	// the plural in the module's #Platform, then to the English plural of kind.
	Plural string `json:"plural,omitempty"`
	// shortNames are abbreviations of the kind for kubectl. Defaults to the
	// shortNames in the module's #Platform.
	ShortNames []string `json:"shortNames,omitempty"`
	// categories are the groups of resources that the kind belongs to, such as
	// all. Defaults to the categories in the module's #Platform.
	Categories []string `json:"categories,omitempty"`
	// scope of the generated kind: Namespaced or Cluster. Defaults to the scope in
	// the module's #Platform, then to Namespaced.
	Scope Scope `json:"scope,omitempty"`

	// policies are modules that check every instance of the kind and every
	// rendered node.
	Policies []CueRef `json:"policies,omitempty"`

	// managedResources are the resources that graphs of the platform write.
	ManagedResources []ManagedResource `json:"managedResources,omitempty"`
	// rbacScope is the scope of the generated roles: Namespaced or Cluster.
	RBACScope string `json:"rbacScope,omitempty"`
	// serviceAccountName is the service account of the rendered graphs.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// deletionPolicy is the deletion policy of the rendered graphs.
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// CueRef refers to a CUE module. Only the types embedded and path are supported.
type CueRef struct {
	// type is the kind of source: embedded, oci, git, configmap, inline or path.
	Type CueRefType `json:"type"`
	// ref locates the module. Its meaning depends on type: the name of an embedded
	// module, a directory relative to the file with the Transform, an OCI or git
	// address, the name of a ConfigMap, or the CUE source itself.
	Ref string `json:"ref,omitempty"`
	// path is a directory inside the source that ref locates.
	Path string `json:"path,omitempty"`
	// digest is the digest that the fetched module must have, as sha256:HEX.
	Digest string `json:"digest,omitempty"`
	// pullSecretRef is the name of a Secret with registry credentials.
	PullSecretRef *string `json:"pullSecretRef,omitempty"`
	// verify requires a signature on the module.
	Verify *Verify `json:"verify,omitempty"`
}

// CueRefType is a kind of module source.
type CueRefType string

// The module sources. CueRefPath is only for Transforms in files; a path has no
// meaning in a cluster.
const (
	CueRefEmbedded  CueRefType = "embedded"
	CueRefOCI       CueRefType = "oci"
	CueRefGit       CueRefType = "git"
	CueRefConfigMap CueRefType = "configmap"
	CueRefInline    CueRefType = "inline"
	CueRefPath      CueRefType = "path"
)

// Verify selects the signature that a module must have.
type Verify struct {
	// provider is the signing tool, such as cosign.
	Provider string `json:"provider,omitempty"`
	// secretRef is the name of a Secret with the public keys.
	SecretRef string `json:"secretRef,omitempty"`
}

// ManagedResource is a rule of the roles that graphs of the platform need.
type ManagedResource struct {
	// apiGroup is the API group of the resources; "" is the core group.
	APIGroup string `json:"apiGroup"`
	// resources are the plural names of the resources.
	Resources []string `json:"resources"`
	// verbs are the allowed verbs.
	Verbs []string `json:"verbs,omitempty"`
}

// Scope is the scope of a kind: its objects are namespaced or cluster-scoped.
type Scope string

// The scopes.
const (
	ScopeNamespaced Scope = "Namespaced"
	ScopeCluster    Scope = "Cluster"
)

// TransformStatus is the observed state of a Transform.
type TransformStatus struct {
	// phase is Pending, Fetching, Generating, Ready or Failed.
	Phase string `json:"phase,omitempty"`
	// observedGeneration is the generation that the status describes.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// generatedCRD is the name of the generated CustomResourceDefinition.
	GeneratedCRD string `json:"generatedCRD,omitempty"`
	// generatedRBAC is the name of the generated role.
	GeneratedRBAC string `json:"generatedRBAC,omitempty"`
	// resolvedCueRef is the module content that cueRef was resolved to.
	ResolvedCueRef *ResolvedCueRef `json:"resolvedCueRef,omitempty"`
	// conditions are the current conditions of the Transform.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ResolvedCueRef is the module content that a CueRef was resolved to.
type ResolvedCueRef struct {
	// digest is the digest of the content, as sha256:HEX.
	Digest string `json:"digest"`
	// fetchedAt is the time at which the content was fetched.
	FetchedAt metav1.Time `json:"fetchedAt"`
}
