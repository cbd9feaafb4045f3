package install

import (
	"maps"
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
	modeActions  = "actions"
)

// modeNames are the values of --mode.
var modeNames = []string{modeGitOps, modeOperator, modeActions}

// mode is one of the programs that can be installed. All can be in one cluster. They share their
// namespace, and those that execute graphs share the CRDs.
type mode struct {
	// program is the name of the program, of the graph as which it is installed, and of the
	// Lease of its leader election. They match config/applier, config/default and config/actions.
	program string
	// noun is the program in messages.
	noun string
	// manifests are the objects to install.
	manifests []byte
	// webhooks are the objects of the component in config/webhook, and webhookName is the name of
	// its role, its Service and its configuration. Both are empty if the program has none.
	webhooks    []byte
	webhookName string
	// digest is the digest of the released image, or "".
	digest string
	// operator is set if the program executes the graphs with [v1alpha1.OperatorExecutes],
	// and otherwise it executes all others.
	operator bool
	// actions is set if the program executes Actions, and no graphs.
	actions bool
}

// modeOf returns the mode of a value of --mode.
func modeOf(name string) mode {
	if name == modeOperator {
		return mode{
			program: "pequod-manager", noun: "manager", manifests: config.Operator, digest: version.ManagerDigest(),
			webhooks: config.ManagerWebhook(), webhookName: "pequod-manager-webhook", operator: true,
		}
	}
	if name == modeActions {
		return mode{
			program: "pequod-actions", noun: "executor of Actions", manifests: config.Actions, digest: version.ActionsDigest(), actions: true,
		}
	}
	return mode{
		program: "pequod-applier", noun: "applier", manifests: config.Applier, digest: version.ImageDigest(),
		webhooks: config.Webhook(), webhookName: "pequod-webhook",
	}
}

// executes reports whether the program executes a graph.
func (m mode) executes(g *unstructured.Unstructured) bool {
	return !m.actions && (g.GetLabels()[v1alpha1.LabelOperator] == v1alpha1.OperatorExecutes) == m.operator
}

// shared reports whether an object belongs to the installations of both modes.
func shared(obj *unstructured.Unstructured) bool {
	return slices.Contains([]string{kindCRD, kindNamespace}, obj.GetKind())
}

// protects reports whether an object protects the graphs of the manager from users.
func protects(obj *unstructured.Unstructured) bool {
	return slices.Contains([]string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}, obj.GetKind())
}

// deployments are the names of the Deployments, by the program.
var deployments = map[string]string{
	"pequod-applier": "pequod-applier", "pequod-manager": "pequod-controller-manager", "pequod-actions": "pequod-actions",
}

// others returns the programs of the other modes, sorted.
func (m mode) others() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(deployments)), func(program string) bool { return program == m.program })
}

// deploymentOf returns the name of the Deployment of a program.
func deploymentOf(program string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("apps/v1")
	obj.SetKind("Deployment")
	obj.SetNamespace(installNamespace)
	obj.SetName(deployments[program])
	return obj
}

// executesGraphs reports whether a program executes graphs, and so needs their CRDs.
func executesGraphs(program string) bool { return program != "pequod-actions" }

// article returns the noun with its article.
func (m mode) article() string {
	if m.operator {
		return "a manager"
	}
	return "an " + m.noun
}
