package install

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/internal/version"
)

// The values of --mode.
const (
	modeGitOps   = "gitops"
	modeOperator = "operator"
)

// modeNames are the values of --mode.
var modeNames = []string{modeGitOps, modeOperator}

// mode is one of the two programs that can be installed. Both can be in one cluster, and then
// share their namespace and the CRDs.
type mode struct {
	// program is the name of the program, of the graph as which it is installed, and of the
	// Lease of its leader election. They match config/applier and config/default.
	program string
	// noun is the program in messages.
	noun string
	// manifests are the objects to install.
	manifests []byte
	// webhooks are the objects of the component in config/webhook, and webhookName is the name of
	// its role, its Service and its configuration.
	webhooks    []byte
	webhookName string
	// digest is the digest of the released image, or "".
	digest string
	// operator is set if the program executes the graphs with [v1alpha1.LabelOperator], and
	// otherwise it executes all others.
	operator bool
	// other is the program of the other mode.
	other string
}

// modeOf returns the mode of a value of --mode.
func modeOf(name string) mode {
	if name == modeOperator {
		return mode{
			program: "pequod-manager", noun: "manager", manifests: config.Operator, digest: version.ManagerDigest(),
			webhooks: config.ManagerWebhook(), webhookName: "pequod-manager-webhook", operator: true, other: "pequod-applier",
		}
	}
	return mode{
		program: "pequod-applier", noun: "applier", manifests: config.Applier, digest: version.ImageDigest(),
		webhooks: config.Webhook(), webhookName: "pequod-webhook", other: "pequod-manager",
	}
}

// executes reports whether the program executes a graph.
func (m mode) executes(g *unstructured.Unstructured) bool {
	return (g.GetLabels()[v1alpha1.LabelOperator] == "true") == m.operator
}

// shared reports whether an object belongs to the installations of both modes.
func shared(obj *unstructured.Unstructured) bool {
	return slices.Contains([]string{kindCRD, kindNamespace}, obj.GetKind())
}

// protects reports whether an object protects the graphs of the manager from users.
func protects(obj *unstructured.Unstructured) bool {
	return slices.Contains([]string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}, obj.GetKind())
}

// otherDeployment returns the name of the Deployment of the other mode.
func (m mode) otherDeployment() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("apps/v1")
	obj.SetKind("Deployment")
	obj.SetNamespace(installNamespace)
	obj.SetName("pequod-controller-manager")
	if m.operator {
		obj.SetName(m.other)
	}
	return obj
}

// article returns the noun with its article.
func (m mode) article() string {
	if m.operator {
		return "a manager"
	}
	return "an applier"
}
