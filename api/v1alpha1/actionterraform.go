package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// TerraformExecutor applies an OpenTofu configuration with Jobs in the namespace of the Action. Its
// state is in the Secret tfstate-default-pequod-NAME. In check and destroy, each field that is
// absent is that of spec.terraform.
type TerraformExecutor struct {
	// image is an image with the program tofu of OpenTofu in its PATH. Required in
	// spec.terraform.
	//
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\s]+$`
	Image string `json:"image,omitempty"`
	// source has the files of the configuration. Required in spec.terraform.
	Source *TerraformSource `json:"source,omitempty"`
	// vars are values of variables. A variable that the configuration doesn't declare is an
	// error.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Vars *runtime.RawExtension `json:"vars,omitempty"`
	// varsFromSecretRef names a Secret; each of its keys is the name of a variable. Values are
	// strings, or OpenTofu expressions if the variable has a type that isn't a string.
	VarsFromSecretRef *SecretRef `json:"varsFromSecretRef,omitempty"`
	// lockTimeout is how long a run waits if somebody else has locked the state. Defaults to 5m.
	LockTimeout Duration `json:"lockTimeout,omitempty"`
	// template is a Pod template as in a Job: metadata.labels, metadata.annotations and spec. Its
	// container tofu, if there is one, may have env, envFrom, resources, volumeMounts and a
	// securityContext. pequod-actions adds the image and the command, and what the Pod security
	// standard restricted requires.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Template *runtime.RawExtension `json:"template,omitempty"`
}

// TerraformSource has the files of an OpenTofu configuration. They are read when a run begins, so
// the whole run has the same ones. Their directory is the root module.
//
// +kubebuilder:validation:XValidation:rule="has(self.inline) != has(self.configMapRef)",message="exactly one of inline and configMapRef is required"
type TerraformSource struct {
	// inline has the files by their names, such as main.tf or modules/network/main.tf. All are
	// at most 256 KiB.
	//
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=100
	Inline map[string]string `json:"inline,omitempty"`
	// configMapRef names a ConfigMap in the namespace of the Action, whose keys are names of
	// files. A change of it alone doesn't run the Action.
	ConfigMapRef *ConfigMapRef `json:"configMapRef,omitempty"`
}

// ConfigMapRef is a ConfigMap in the namespace of the object.
type ConfigMapRef struct {
	// name is the name of the ConfigMap.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// For returns the request of a check or a destroy: what it doesn't set is that of spec.
func (t *TerraformExecutor) For(spec *TerraformExecutor) *TerraformExecutor {
	if t == nil || spec == nil {
		return t
	}
	full := *spec // nothing below it is changed
	inherit(&full.Image, t.Image)
	if t.Source != nil {
		full.Source = t.Source
	}
	if t.Vars != nil {
		full.Vars = t.Vars
	}
	if t.VarsFromSecretRef != nil {
		full.VarsFromSecretRef = t.VarsFromSecretRef
	}
	if t.LockTimeout != "" {
		full.LockTimeout = t.LockTimeout
	}
	if t.Template != nil {
		full.Template = t.Template
	}
	return &full
}
