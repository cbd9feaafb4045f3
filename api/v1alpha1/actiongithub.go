package v1alpha1

// GitHubWorkflow dispatches a workflow of GitHub, and waits for the end of its run. In check and
// destroy, each field that is absent is that of spec.githubWorkflow.
//
// +kubebuilder:validation:XValidation:rule="!has(self.keyInput) || !has(self.inputs) || !(self.keyInput in self.inputs)",message="inputs must not have the input keyInput, whose value pequod-actions sets"
// +kubebuilder:validation:XValidation:rule="(has(self.inputs) ? size(self.inputs) : 0) + (has(self.keyInput) ? 1 : 0) <= 25",message="GitHub takes at most 25 inputs, with keyInput"
type GitHubWorkflow struct {
	// server is the address of the API: https://HOST/api/v3 for GitHub Enterprise Server.
	// Defaults to https://api.github.com.
	//
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^/?#@]+[^?#]*$`
	Server string `json:"server,omitempty"`
	// repository is OWNER/NAME. Required in spec.githubWorkflow.
	//
	// +kubebuilder:validation:MaxLength=140
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]+/[A-Za-z0-9._-]+$`
	Repository string `json:"repository,omitempty"`
	// workflow is the name of the workflow's file, or its ID.
	//
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_][A-Za-z0-9._-]*$`
	Workflow string `json:"workflow"`
	// ref is the branch or tag that has the workflow. Required in spec.githubWorkflow.
	//
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^\s~^:?*\[\\]+$`
	Ref string `json:"ref,omitempty"`
	// inputs are the inputs of the workflow. GitHub takes at most 25, and older servers 10.
	//
	// +kubebuilder:validation:MaxProperties=25
	Inputs map[string]RunnerInput `json:"inputs,omitempty"`
	// keyInput is the input that gets the key of the run. The run-name of the workflow must
	// have it, so that the run is found by its key: after a crash, and on servers that don't
	// return the ID of the run, which is why they require it.
	//
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_-]*$`
	KeyInput string `json:"keyInput,omitempty"`
	// auth has the credentials of the server. Required in spec.githubWorkflow.
	Auth *GitHubAuth `json:"auth,omitempty"`
	// outputsArtifact is the name of an artifact with the file outputs.json, an object of at
	// most 64 KiB. It is run.outputs in expressions.
	//
	// +kubebuilder:validation:MaxLength=255
	OutputsArtifact string `json:"outputsArtifact,omitempty"`
	// caBundle has the certificates of the authorities that the server's certificate may be
	// of, as PEM. Defaults to those of the system.
	//
	// +kubebuilder:validation:MaxLength=65536
	CABundle string `json:"caBundle,omitempty"`
}

// RunnerInput is a value that a run gets.
//
// +kubebuilder:validation:MaxLength=65535
type RunnerInput string

// GitHubAuth has the credentials for GitHub.
//
// +kubebuilder:validation:XValidation:rule="has(self.tokenSecretRef) != has(self.app)",message="exactly one of tokenSecretRef and app is required"
type GitHubAuth struct {
	// tokenSecretRef is a personal access token with the permission actions: write.
	TokenSecretRef *SecretKeyRef `json:"tokenSecretRef,omitempty"`
	// app is a GitHub App with the permission actions: write.
	App *GitHubApp `json:"app,omitempty"`
}

// GitHubApp is an installation of a GitHub App. Its tokens are kept in memory only.
type GitHubApp struct {
	// id is the ID of the App.
	//
	// +kubebuilder:validation:Minimum=1
	ID int64 `json:"id"`
	// installationID is the ID of the installation that has the repository.
	//
	// +kubebuilder:validation:Minimum=1
	InstallationID int64 `json:"installationID"`
	// privateKeySecretRef is the private key of the App, as PEM.
	PrivateKeySecretRef SecretKeyRef `json:"privateKeySecretRef"`
}

// For returns the request of a check or a destroy: what it doesn't set is that of spec.
func (g *GitHubWorkflow) For(spec *GitHubWorkflow) *GitHubWorkflow {
	if g == nil || spec == nil {
		return g
	}
	full := *spec // nothing below it is changed
	full.Workflow = g.Workflow
	inherit(&full.Server, g.Server)
	inherit(&full.Repository, g.Repository)
	inherit(&full.Ref, g.Ref)
	inherit(&full.KeyInput, g.KeyInput)
	inherit(&full.OutputsArtifact, g.OutputsArtifact)
	inherit(&full.CABundle, g.CABundle)
	if g.Inputs != nil {
		full.Inputs = g.Inputs
	}
	if g.Auth != nil {
		full.Auth = g.Auth
	}
	return &full
}

// inherit replaces a field unless the value is empty.
func inherit(field *string, value string) {
	if value != "" {
		*field = value
	}
}
