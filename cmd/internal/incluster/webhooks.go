package incluster

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/pequod-io/pequod/operator/admission/graphs"
	"github.com/pequod-io/pequod/operator/admission/serve"
)

// Webhooks has the flags of the admission webhooks.
type Webhooks struct {
	Enabled bool
	Address string
	// CertDir is the directory of a certificate that another program keeps; "" means that
	// this one does.
	CertDir string
	// Namespace is the namespace of the program; "" means that of the Pod.
	Namespace string
}

// addFlags adds the flags, which set w to their defaults.
func (w *Webhooks) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&w.Enabled, "webhooks", false, "serve the admission webhooks; needs the objects of config/webhook")
	fs.StringVar(&w.Address, "webhook-bind-address", ":9443", "address of the admission webhooks")
	fs.StringVar(&w.CertDir, "webhook-cert-path", "",
		"directory of tls.crt and tls.key for the admission webhooks, reloaded when they change; default: a certificate that the program keeps in a Secret")
	fs.StringVar(&w.Namespace, "webhook-namespace", "", "namespace of the Secret and the Service of the admission webhooks; default: the namespace of the Pod, else "+DefaultNamespace)
}

// check checks the flags.
func (w *Webhooks) check(fs *pflag.FlagSet) error {
	for _, flag := range []string{"webhook-bind-address", "webhook-cert-path", "webhook-namespace"} {
		if fs.Changed(flag) && !w.Enabled {
			return fmt.Errorf("--%s goes with --webhooks", flag)
		}
	}
	if w.Namespace != "" && len(validation.IsDNS1123Label(w.Namespace)) > 0 {
		return fmt.Errorf("--webhook-namespace: %q is not the name of a namespace", w.Namespace)
	}
	if _, port, err := net.SplitHostPort(w.Address); err != nil || !isPort(port) {
		return fmt.Errorf("--webhook-bind-address: %q is not an address such as :9443", w.Address)
	}
	if w.CertDir == "" {
		return nil
	}
	for _, file := range []string{"tls.crt", "tls.key"} {
		if _, err := os.Stat(filepath.Join(w.CertDir, file)); err != nil {
			return fmt.Errorf("--webhook-cert-path: %w", err)
		}
	}
	return nil
}

// isPort reports whether text is the number of a port.
func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0
}

// SetupWebhooks adds the webhook for ResourceGraphs, others by their paths, and handlers that
// aren't asked about admission to a manager if --webhooks is set. The name is that of the
// configuration, one of package serve.
func (s *Settings) SetupWebhooks(
	ctx context.Context, m manager.Manager, name string, webhooks map[string]admission.Handler, others map[string]http.Handler,
) error {
	if !s.Webhooks.Enabled {
		return nil
	}
	ofGraphs, err := graphs.New(m.GetConfig(), m.GetHTTPClient(), s.Graphs.DefaultServiceAccount)
	if err != nil {
		return err
	}
	handlers := map[string]admission.Handler{serve.GraphsPath: ofGraphs}
	maps.Copy(handlers, webhooks)
	return serve.Setup(ctx, m, serve.Options{
		Name: name, OwnNamespace: name == serve.Manager, Address: s.Webhooks.Address, CertDir: s.Webhooks.CertDir, Namespace: s.Webhooks.InNamespace(),
		Handlers: handlers, Others: others, Metrics: metrics.Registry,
	})
}

// InNamespace returns the namespace of the Secret and the Service.
func (w *Webhooks) InNamespace() string {
	if w.Namespace != "" {
		return w.Namespace
	}
	return PodNamespace()
}

const (
	// podNamespaceFile is where Kubernetes writes the namespace of a Pod.
	podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
	// DefaultNamespace is the namespace of programs outside of a Pod.
	DefaultNamespace = "pequod-system"
)

// PodNamespace returns the namespace of the Pod, or pequod-system outside of a Pod.
func PodNamespace() string { return podNamespace(podNamespaceFile) }

// podNamespace returns the namespace in a file, or the default without one.
func podNamespace(file string) string {
	text, err := os.ReadFile(file)
	if namespace := strings.TrimSpace(string(text)); err == nil && namespace != "" {
		return namespace
	}
	return DefaultNamespace
}
