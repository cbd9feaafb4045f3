package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// GitLabPipeline creates a pipeline of GitLab, and waits for its end and that of its child
// pipelines. In check and destroy, each field that is absent is that of spec.gitlabPipeline.
//
// +kubebuilder:validation:XValidation:rule="!has(self.variables) || !((has(self.keyVariable) ? self.keyVariable : 'PEQUOD_RUN') in self.variables)",message="variables must not have the variable keyVariable, whose value pequod-actions sets"
type GitLabPipeline struct {
	// server is the address of GitLab; /api/v4 is appended. Defaults to https://gitlab.com.
	//
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^/?#@]+[^?#]*$`
	Server string `json:"server,omitempty"`
	// project is the path of the project, such as GROUP/NAME, or its ID. Required in
	// spec.gitlabPipeline.
	//
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`
	Project string `json:"project,omitempty"`
	// ref is the branch or tag that the pipeline is of. Required in spec.gitlabPipeline.
	//
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\s~^:?*\[\\]+$`
	Ref string `json:"ref,omitempty"`
	// variables are variables of the pipeline.
	//
	// +kubebuilder:validation:MaxProperties=100
	Variables map[string]RunnerInput `json:"variables,omitempty"`
	// inputs are the inputs of the pipeline: strings, numbers, booleans or lists, as its
	// spec:inputs says.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Inputs *runtime.RawExtension `json:"inputs,omitempty"`
	// keyVariable is the variable that gets the key of the run, so that the pipeline is found
	// again after a crash. Defaults to PEQUOD_RUN.
	//
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	KeyVariable string `json:"keyVariable,omitempty"`
	// auth has the credentials of the server. Required in spec.gitlabPipeline.
	Auth *GitLabAuth `json:"auth,omitempty"`
	// outputsFrom is a file with an object of at most 64 KiB. It is run.outputs in
	// expressions.
	OutputsFrom *GitLabOutputs `json:"outputsFrom,omitempty"`
	// caBundle has the certificates of the authorities that the server's certificate may be
	// of, as PEM. Defaults to those of the system.
	//
	// +kubebuilder:validation:MaxLength=65536
	CABundle string `json:"caBundle,omitempty"`
}

// GitLabAuth has the credentials for GitLab.
//
// +kubebuilder:validation:XValidation:rule="has(self.tokenSecretRef) || has(self.triggerTokenSecretRef)",message="tokenSecretRef or triggerTokenSecretRef is required"
type GitLabAuth struct {
	// tokenSecretRef is an access token with the scope api. It reads pipelines, cancels them,
	// and creates them unless there is a trigger token.
	TokenSecretRef *SecretKeyRef `json:"tokenSecretRef,omitempty"`
	// triggerTokenSecretRef is a trigger token. It creates pipelines and can't read them, so
	// without tokenSecretRef the project must be public, pipelines aren't cancelled, and none
	// is found again after a crash.
	TriggerTokenSecretRef *SecretKeyRef `json:"triggerTokenSecretRef,omitempty"`
}

// GitLabOutputs is a file among the artifacts of a job.
type GitLabOutputs struct {
	// job is the name of the job, in the pipeline or one of its child pipelines.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Job string `json:"job"`
	// path is the path of the JSON file among the artifacts of the job.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[^/\x00][^\x00]*$`
	Path string `json:"path"`
}

// For returns the request of a check or a destroy: what it doesn't set is that of spec.
func (g *GitLabPipeline) For(spec *GitLabPipeline) *GitLabPipeline {
	if g == nil || spec == nil {
		return g
	}
	full := *spec // nothing below it is changed
	inherit(&full.Server, g.Server)
	inherit(&full.Project, g.Project)
	inherit(&full.Ref, g.Ref)
	inherit(&full.KeyVariable, g.KeyVariable)
	inherit(&full.CABundle, g.CABundle)
	if g.Variables != nil {
		full.Variables = g.Variables
	}
	if g.Inputs != nil {
		full.Inputs = g.Inputs
	}
	if g.Auth != nil {
		full.Auth = g.Auth
	}
	if g.OutputsFrom != nil {
		full.OutputsFrom = g.OutputsFrom
	}
	return &full
}
