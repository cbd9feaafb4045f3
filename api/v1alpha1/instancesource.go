package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// InstanceSource renders the instances in the artifact of a Flux source with the Transforms of
// the cluster. The result is the artifact of an ExternalArtifact with the same name, which a
// Kustomization of Flux applies: one ResourceGraph for each instance.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=pequod
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.status.observedSourceRevision`
// +kubebuilder:printcolumn:name="Instances",type=integer,JSONPath=`.status.instances`
// +kubebuilder:printcolumn:name="Suspended",type=boolean,priority=1,JSONPath=`.spec.suspend`
// +kubebuilder:printcolumn:name="Revision",type=string,priority=1,JSONPath=`.status.artifact.revision`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type InstanceSource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec selects the files with the instances.
	Spec InstanceSourceSpec `json:"spec"`
	// status is the observed state, written by pequod-manager. Until a manager has seen the
	// InstanceSource, observedGeneration is -1, and the condition Ready is Unknown with the
	// reason WaitingForManager.
	//
	// +kubebuilder:default:={"observedGeneration":-1,"conditions":{{"type":"Ready","status":"Unknown","reason":"WaitingForManager","message":"no manager has seen the InstanceSource; pequod-manager needs --artifact-bind-address for it","lastTransitionTime":"1970-01-01T00:00:00Z"}}}
	Status InstanceSourceStatus `json:"status,omitzero"`
}

// InstanceSourceSpec selects the files with the instances.
type InstanceSourceSpec struct {
	// sourceRef is the source whose artifact has the files.
	SourceRef FluxSourceRef `json:"sourceRef"`
	// path is the directory of the artifact that has the files. Instances are read from all YAML
	// and JSON files in it and below it. Defaults to ./, the root of the artifact.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(e, e == '..')",reason=FieldValueInvalid,message="must be a directory of the artifact, without .. and a leading /"
	Path string `json:"path,omitempty"`
	// interval is the time after which the artifact is checked if nothing changes, and the longest
	// time before a failure is tried again. All changes of the source and of Transforms are rendered
	// at once. Defaults to 10m; at least 30s.
	//
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('30s')",reason=FieldValueInvalid,message="must be at least 30s"
	Interval *metav1.Duration `json:"interval,omitempty"`
	// suspend stops rendering. The last artifact stays.
	Suspend bool `json:"suspend,omitempty"`
}

// FluxSourceRef refers to a source of Flux.
type FluxSourceRef struct {
	// apiVersion is the API version of the source. Defaults to source.toolkit.fluxcd.io/v1.
	//
	// +kubebuilder:validation:Enum=source.toolkit.fluxcd.io/v1
	APIVersion string `json:"apiVersion,omitempty"`
	// kind is GitRepository, OCIRepository, Bucket or ExternalArtifact.
	Kind FluxSourceKind `json:"kind"`
	// name is the name of the source.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// namespace is the namespace of the source. Defaults to the namespace of the InstanceSource,
	// which is the only one allowed if pequod-manager runs with --no-cross-namespace-refs.
	//
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// FluxSourceKind is the kind of a source of Flux.
//
// +kubebuilder:validation:Enum=GitRepository;OCIRepository;Bucket;ExternalArtifact
type FluxSourceKind string

// The kinds of sources of Flux.
const (
	FluxGitRepository    FluxSourceKind = "GitRepository"
	FluxOCIRepository    FluxSourceKind = "OCIRepository"
	FluxBucket           FluxSourceKind = "Bucket"
	FluxExternalArtifact FluxSourceKind = "ExternalArtifact"
)

// InstanceSourceStatus is the observed state of an InstanceSource.
type InstanceSourceStatus struct {
	// observedGeneration is the generation that the status describes. It is -1 until a manager
	// has seen the InstanceSource.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// lastHandledReconcileAt is the value of the annotation reconcile.fluxcd.io/requestedAt or
	// pequod.io/reconcile-requested-at that was handled last.
	//
	// +kubebuilder:validation:MaxLength=256
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`
	// observedSourceRevision is the revision of the source that was rendered last. A revision
	// that can't be rendered isn't recorded.
	//
	// +kubebuilder:validation:MaxLength=1024
	ObservedSourceRevision string `json:"observedSourceRevision,omitempty"`
	// instances is the number of instances in the artifact.
	Instances int `json:"instances,omitempty"`
	// artifact is the artifact that the ExternalArtifact has.
	Artifact *InstanceArtifact `json:"artifact,omitempty"`
	// conditions are Ready, Reconciling and Stalled, with the meaning that kstatus defines.
	// Reconciling and Stalled are only present while they are true.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// InstanceArtifact is the artifact of an InstanceSource.
type InstanceArtifact struct {
	// revision is the revision of the artifact. It stays if a revision of the source renders the
	// same graphs.
	//
	// +kubebuilder:validation:MaxLength=1024
	Revision string `json:"revision"`
	// digest is the digest of the archive, as sha256:HEX.
	//
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest"`
}

// InstanceSourceList is a list of InstanceSources.
//
// +kubebuilder:object:root=true
type InstanceSourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []InstanceSource `json:"items"`
}

// AddInstanceSources registers InstanceSources with a scheme. They aren't among the kinds of
// [AddToScheme], so that only the program that reconciles them links them.
func AddInstanceSources(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &InstanceSource{}, &InstanceSourceList{})
	return nil
}
