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

// TransformSpec names the module and what its kind is called.
type TransformSpec struct {
	CueRef CueRef `json:"cueRef"`

	// Group defaults to DefaultGroup, Version to DefaultVersion; Kind to the
	// module's #Platform.kind, else to the Transform's name in CamelCase.
	Group      string   `json:"group,omitempty"`
	Version    string   `json:"version,omitempty"`
	Kind       string   `json:"kind,omitempty"`
	Plural     string   `json:"plural,omitempty"`
	ShortNames []string `json:"shortNames,omitempty"`
	Categories []string `json:"categories,omitempty"`
	// Scope of the generated kind: Namespaced or Cluster.
	Scope Scope `json:"scope,omitempty"`

	// Policies are modules that see every input and every rendered node.
	Policies []CueRef `json:"policies,omitempty"`

	ManagedResources   []ManagedResource `json:"managedResources,omitempty"`
	RBACScope          string            `json:"rbacScope,omitempty"`
	ServiceAccountName string            `json:"serviceAccountName,omitempty"`
	DeletionPolicy     DeletionPolicy    `json:"deletionPolicy,omitempty"`
}

// CueRef says where a module comes from.
type CueRef struct {
	Type CueRefType `json:"type"`
	// Ref is the embedded module's name, the directory relative to the file
	// that holds the Transform, the OCI or git address, the ConfigMap's name,
	// or the CUE source itself, depending on Type.
	Ref string `json:"ref,omitempty"`
	// Path is a directory inside what Ref names.
	Path          string  `json:"path,omitempty"`
	Digest        string  `json:"digest,omitempty"`
	PullSecretRef *string `json:"pullSecretRef,omitempty"`
	Verify        *Verify `json:"verify,omitempty"`
}

// CueRefType is a kind of place that modules come from.
type CueRefType string

// The places that modules come from. CueRefPath is for files only and is
// refused in a cluster.
const (
	CueRefEmbedded  CueRefType = "embedded"
	CueRefOCI       CueRefType = "oci"
	CueRefGit       CueRefType = "git"
	CueRefConfigMap CueRefType = "configmap"
	CueRefInline    CueRefType = "inline"
	CueRefPath      CueRefType = "path"
)

// Verify says whose signature a module must carry.
type Verify struct {
	Provider  string `json:"provider,omitempty"`
	SecretRef string `json:"secretRef,omitempty"`
}

// ManagedResource names resources that graphs of the platform write, for RBAC.
type ManagedResource struct {
	APIGroup  string   `json:"apiGroup"`
	Resources []string `json:"resources"`
	Verbs     []string `json:"verbs,omitempty"`
}

// Scope says whether objects of a kind lie in namespaces.
type Scope string

// The scopes.
const (
	ScopeNamespaced Scope = "Namespaced"
	ScopeCluster    Scope = "Cluster"
)

// TransformStatus is what the manager found and did.
type TransformStatus struct {
	// Phase is Pending, Fetching, Generating, Ready or Failed.
	Phase              string             `json:"phase,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	GeneratedCRD       string             `json:"generatedCRD,omitempty"`
	GeneratedRBAC      string             `json:"generatedRBAC,omitempty"`
	ResolvedCueRef     *ResolvedCueRef    `json:"resolvedCueRef,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// ResolvedCueRef is the exact content that a CueRef stood for.
type ResolvedCueRef struct {
	Digest    string      `json:"digest"`
	FetchedAt metav1.Time `json:"fetchedAt"`
}
