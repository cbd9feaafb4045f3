package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// JobExecutor runs containers as a Job in the namespace of the Action. The service account of the
// Action creates, reads and deletes the Job, and lists its Pods.
type JobExecutor struct {
	// template is the Pod template of the Job, as spec.template of a Job: metadata.labels,
	// metadata.annotations and spec. restartPolicy defaults to Never, serviceAccountName to
	// that of the Action, and the security contexts to those of the Pod security standard
	// restricted.
	//
	// Each container has the variables PEQUOD_RUN, the key of the run, PEQUOD_PURPOSE, which
	// is Apply, Check or Destroy, and PEQUOD_PREVIOUS, the outputs of the last run that
	// succeeded, as JSON. The termination message of the first container, if it is a JSON object, is run.outputs,
	// and as a string run.message.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Template runtime.RawExtension `json:"template"`
	// backoffLimit is how often the Job repeats a Pod that failed. Defaults to 0: the retry
	// of the Action repeats failed runs.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
}
