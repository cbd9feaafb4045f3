package process

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/harness"
)

// Webhooks are the webhooks of a program.
type Webhooks struct {
	// Manifests configure them.
	Manifests []byte
	// Configuration is the name of the ValidatingWebhookConfiguration, and Path the path of its
	// first webhook.
	Configuration, Path string
}

// Hooked is a cluster in which a program is installed with its webhooks. The control plane of
// tests has no network of Services, so the configuration calls the program by its address.
type Hooked struct {
	*harness.Cluster
	// Account is the access of the program.
	Account *rest.Config
	// Address is where the next process serves webhooks.
	Address string

	program  Program
	webhooks Webhooks
}

// InstallHooked is [Program.Install] with webhooks.
func (p Program) InstallHooked(t *testing.T, webhooks Webhooks) *Hooked {
	t.Helper()
	c, account := p.Install(t)
	h := &Hooked{Cluster: c, Account: account, Address: FreeAddress(t), program: p, webhooks: webhooks}
	h.Configure(t)
	return h
}

// Configure applies the configuration of the webhooks.
func (h *Hooked) Configure(t *testing.T) {
	t.Helper()
	h.Apply(t, string(h.webhooks.Manifests))
	patch := fmt.Sprintf(`[{"op": "remove", "path": "/webhooks/0/clientConfig/service"}, {"op": "add", "path": "/webhooks/0/clientConfig/url", "value": "https://%s%s"}]`,
		h.Address, h.webhooks.Path)
	if _, err := h.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(t.Context(), h.webhooks.Configuration,
		types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Run starts the program with webhooks, and does not wait until it is ready.
func (h *Hooked) Run(t *testing.T, args ...string) *Process {
	t.Helper()
	return h.program.Start(t, h.Cluster, h.Account, append([]string{"--webhooks", "--webhook-bind-address=" + h.Address, "--webhook-namespace=" + Namespace}, args...)...)
}
