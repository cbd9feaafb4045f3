package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Transform binds a CUE module to the API kind that is generated from it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=pequod
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="CRD",type=string,JSONPath=`.status.generatedCRD`
// +kubebuilder:printcolumn:name="Instances",type=integer,JSONPath=`.status.instances.total`
// +kubebuilder:printcolumn:name="Version",type=string,priority=1,JSONPath=`.status.resolvedCueRef.version`
// +kubebuilder:printcolumn:name="Rollout",type=string,priority=1,JSONPath=`.status.rollout.phase`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Transform struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec selects the module and names the kind.
	Spec TransformSpec `json:"spec"`
	// status is the observed state, written by the manager of the operator mode.
	// Until a manager has seen the Transform, phase is Pending, observedGeneration is
	// -1, and the condition Ready is Unknown with the reason WaitingForManager.
	//
	// +kubebuilder:default:={"phase":"Pending","observedGeneration":-1,"conditions":{{"type":"Ready","status":"Unknown","reason":"WaitingForManager","message":"no manager has seen the Transform; pequod-applier executes graphs only","lastTransitionTime":"1970-01-01T00:00:00Z"}}}
	Status TransformStatus `json:"status,omitzero"`
}

// TransformSpec selects a CUE module and names the kind that is generated from it.
// The rules refuse fields that nothing implements: a security setting without an
// effect must not look as if it had one.
//
// +kubebuilder:validation:XValidation:rule="!has(self.deletionPolicy)",fieldPath=".deletionPolicy",reason=FieldValueForbidden,message="was renamed to graphDeletionPolicy"
type TransformSpec struct {
	// cueRef is the module.
	CueRef CueRef `json:"cueRef"`

	// group is the API group of the generated kind. Defaults to the group in the
	// module's #Platform, then to pequod.io.
	//
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Group string `json:"group,omitempty"`
	// version is the storage version of the generated kind. Defaults to the
	// version in the module's #Platform, then to v1alpha1. If the module defines
	// #Versions, version must be the version that it stores.
	//
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Version string `json:"version,omitempty"`
	// kind is the name of the generated kind, in CamelCase. Defaults to the kind
	// in the module's #Platform, then to the Transform's name in CamelCase.
	//
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$`
	Kind string `json:"kind,omitempty"`
	// plural is the plural name of the generated kind, in lower case. Defaults to
	// the plural in the module's #Platform, then to the English plural of kind.
	//
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Plural string `json:"plural,omitempty"`
	// shortNames are abbreviations of the kind for kubectl. Defaults to the
	// shortNames in the module's #Platform.
	//
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	ShortNames []string `json:"shortNames,omitempty"`
	// categories are the groups of resources that the kind belongs to, such as
	// all. Defaults to the categories in the module's #Platform.
	//
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Categories []string `json:"categories,omitempty"`
	// scope of the generated kind: Namespaced or Cluster. Defaults to the scope in
	// the module's #Platform, then to Namespaced.
	Scope Scope `json:"scope,omitempty"`

	// policies are modules that check every instance of the kind and every
	// rendered node.
	//
	// +kubebuilder:validation:MaxItems=32
	Policies []CueRef `json:"policies,omitempty"`

	// interval is the time between two fetches of a reference whose content can change,
	// such as a tag, a branch or a ConfigMap. Defaults to 10m; at least 30s. References
	// with a digest are fetched once.
	//
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('30s')",reason=FieldValueInvalid,message="must be at least 30s"
	Interval *metav1.Duration `json:"interval,omitempty"`
	// rollout selects how a new version of the module reaches the instances. Without
	// it, all instances get the new version at once.
	Rollout *Rollout `json:"rollout,omitempty"`
	// approvedBreakingDigest is the digest of the module whose breaking changes of the
	// generated CRD are approved, as sha256:HEX. Breaking changes of any other
	// content are refused.
	//
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	ApprovedBreakingDigest string `json:"approvedBreakingDigest,omitempty"`
	// crdDeletionPolicy is the treatment of the generated CRD when the Transform is
	// deleted. Delete, the default, waits until no instance exists and then deletes the
	// CRD. Orphan leaves the CRD, the instances and their graphs in the cluster.
	CRDDeletionPolicy DeletionPolicy `json:"crdDeletionPolicy,omitempty"`
	// adoptCRDs are the names of CRDs that the Transform may take over although it
	// didn't create them, as PLURAL.GROUP. Each must also have the annotation
	// pequod.io/adopt-by with the namespace and name of the Transform, as
	// NAMESPACE/NAME. Without both, a CRD that exists is never changed.
	//
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$`
	// +listType=set
	AdoptCRDs []string `json:"adoptCRDs,omitempty"`

	// managedResources are the resources that graphs of the platform may write. If it
	// is set, the generated roles have exactly these rules, and the right to list the
	// Events, Pods and ReplicaSets that show why an object is not ready. Otherwise they
	// are computed from the nodes that the module can be seen to render.
	//
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	ManagedResources []ManagedResource `json:"managedResources,omitempty"`
	// rbacScope is the scope of the generated roles. Cluster, the default, grants them in
	// all namespaces. Namespace grants them only in the namespaces that have instances, and
	// then graphs can't write cluster-scoped resources.
	RBACScope RBACScope `json:"rbacScope,omitempty"`
	// serviceAccountName is the service account of the rendered graphs.
	//
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// graphDeletionPolicy is the deletion policy of the rendered graphs. It does not
	// apply to the generated CRD.
	GraphDeletionPolicy DeletionPolicy `json:"graphDeletionPolicy,omitempty"`
	// deletionPolicy is the former name of graphDeletionPolicy and is refused.
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
}

// CueRef refers to a CUE module. The type path is only supported in files.
//
// +kubebuilder:validation:XValidation:rule="has(self.ref) || (has(self.files) && self.type == 'inline')",fieldPath=".ref",reason=FieldValueRequired,message="must locate the module"
// +kubebuilder:validation:XValidation:rule="!has(self.files) || self.type == 'inline'",fieldPath=".files",reason=FieldValueForbidden,message="is only for type inline"
// +kubebuilder:validation:XValidation:rule="!has(self.files) || !has(self.ref)",fieldPath=".files",reason=FieldValueForbidden,message="ref has the source of the module already"
// +kubebuilder:validation:XValidation:rule="self.type != 'configmap' || !has(self.ref) || self.ref.size() <= 317",fieldPath=".ref",reason=FieldValueInvalid,message="must be the name of a ConfigMap, or NAMESPACE/NAME"
// +kubebuilder:validation:XValidation:rule="self.type != 'oci' || !has(self.ref) || self.ref.startsWith('oci://')",fieldPath=".ref",reason=FieldValueInvalid,message="must begin with oci://: a cluster has no directories"
// +kubebuilder:validation:XValidation:rule="self.type != 'path'",fieldPath=".type",reason=FieldValueForbidden,message="path is only for Transforms in files: a cluster has no directories"
// +kubebuilder:validation:XValidation:rule="self.type != 'embedded' || !has(self.path)",fieldPath=".path",reason=FieldValueForbidden,message="an embedded module has no path"
// +kubebuilder:validation:XValidation:rule="!has(self.verify) || self.type == 'oci'",fieldPath=".verify",reason=FieldValueForbidden,message="is only for type oci: other modules have no signatures"
type CueRef struct {
	// type is the kind of source: embedded, oci, git, configmap, inline or path.
	Type CueRefType `json:"type"`
	// ref locates the module. Its meaning depends on type: the name of an embedded
	// module, a directory relative to the file with the Transform, an artifact as
	// oci://HOST/REPOSITORY[:TAG][@sha256:HEX], a git repository as
	// git::https://HOST/REPOSITORY[//DIR][?ref=REVISION], a ConfigMap as NAME or
	// NAMESPACE/NAME, or the CUE source itself. A ConfigMap without a namespace is in that
	// of the Transform. In files, artifacts can also be oci-layout:DIR[:TAG] and
	// FILE.oci.tar[:TAG]. Required, unless files has the source.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1048576
	Ref string `json:"ref,omitempty"`
	// files are the files of a module of type inline that has more than one.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Files []CueFile `json:"files,omitempty"`
	// path is a directory inside the source that ref or files have.
	Path string `json:"path,omitempty"`
	// digest is the digest that the module must have, as sha256:HEX: that of the
	// files that its package and the package's imports consist of. Graphs record it
	// in spec.platformRef.digest. The digest of an artifact is another one, and stands
	// in ref.
	//
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	Digest string `json:"digest,omitempty"`
	// pullSecretRef is the name of a Secret with credentials, in the namespace of the
	// Transform: of type kubernetes.io/dockerconfigjson for registries, and
	// kubernetes.io/basic-auth, kubernetes.io/ssh-auth or Opaque for git. In files, it is
	// refused: commands have the user's credentials.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PullSecretRef *string `json:"pullSecretRef,omitempty"`
	// verify demands a signature of the artifact of a module of type oci. Modules that it
	// imports need none; digest covers them, too. In files, it is refused: commands verify
	// by the rules of pequod.yaml.
	Verify *Verify `json:"verify,omitempty"`
}

// CueFile is a file of an inline module.
type CueFile struct {
	// name is the path of the file in the module, such as schema.cue or
	// cue.mod/module.cue.
	//
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9][-A-Za-z0-9_.]*/)*[A-Za-z0-9][-A-Za-z0-9_.]*$`
	Name string `json:"name"`
	// content is the content of the file.
	//
	// +kubebuilder:validation:MaxLength=1048576
	Content string `json:"content"`
}

// CueRefType is a kind of module source.
//
// +kubebuilder:validation:Enum=embedded;oci;git;configmap;inline;path
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

// Verify selects the signature that a module must have: one of a public key or, with
// matchOIDCIdentity, one of an identity.
type Verify struct {
	// provider is the signing tool: cosign.
	//
	// +kubebuilder:validation:Enum=cosign
	Provider string `json:"provider"`
	// secretRef is the name of a Secret in the namespace of the Transform. It has the public
	// keys in PEM format in keys that end in .pub, such as cosign.pub, or, for
	// matchOIDCIdentity, the authorities in trusted_root.json.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretRef string `json:"secretRef"`
	// matchOIDCIdentity lists identities. One of them must have signed the module with a
	// certificate. Without it, the owner of one of the public keys must have signed it.
	//
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	MatchOIDCIdentity []OIDCIdentity `json:"matchOIDCIdentity,omitempty"`
}

// VerifyCosign is the provider of signatures that cosign and Pequod make.
const VerifyCosign = "cosign"

// OIDCIdentity matches the identity in a certificate. Both fields are regular expressions,
// which match a part of the text unless they have ^ and $.
type OIDCIdentity struct {
	// issuer matches the URL of the issuer.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Issuer string `json:"issuer"`
	// subject matches the subject, such as an address or the URL of a workflow.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Subject string `json:"subject"`
}

// ManagedResource is a rule of the roles that graphs of the platform need.
type ManagedResource struct {
	// apiGroup is the API group of the resources; "" is the core group.
	//
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	APIGroup string `json:"apiGroup"`
	// resources are the plural names of the resources, in lower case.
	//
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?(/[a-z]([-a-z0-9]*[a-z0-9])?)?$`
	// +listType=set
	Resources []string `json:"resources"`
	// verbs are the allowed verbs. Defaults to the verbs that an applier needs to
	// create, update, watch and delete the resources.
	//
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z]+$`
	// +listType=set
	Verbs []string `json:"verbs,omitempty"`
}

// RBACScope is the scope of the roles that are generated for a Transform.
//
// +kubebuilder:validation:Enum=Cluster;Namespace
type RBACScope string

// The scopes of generated roles.
const (
	// RBACCluster grants the rules in all namespaces.
	RBACCluster RBACScope = "Cluster"
	// RBACNamespace grants the rules in the namespaces that have instances.
	RBACNamespace RBACScope = "Namespace"
)

// The default and the least time between two fetches of a module.
const (
	DefaultInterval = 10 * time.Minute
	MinInterval     = 30 * time.Second
)

// Scope is the scope of a kind: its objects are namespaced or cluster-scoped.
//
// +kubebuilder:validation:Enum=Namespaced;Cluster
type Scope string

// The scopes.
const (
	ScopeNamespaced Scope = "Namespaced"
	ScopeCluster    Scope = "Cluster"
)
