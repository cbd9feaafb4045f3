// Package serve serves admission webhooks over HTTPS, with a certificate of package
// operator/admission/certs or of files.
//
// [Setup] is the entry point. The package knows no webhooks: callers hand them over. What it
// adds to controller-runtime's server are limits, because every Pod can connect to it: of the
// time to send a request, and of the memory of requests in progress (limit.go). It also lets a
// webhook fail instead of deciding (unavailable.go).
package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/pequod-io/pequod/operator/admission/certs"
)

// The names of the ValidatingWebhookConfiguration and of the Service of each program, as in
// config/webhook. They differ, because both programs can be in one cluster.
const (
	Applier = "pequod-webhook"
	Manager = "pequod-manager-webhook"
)

// SecretOf returns the name of the Secret with the certificate of a configuration.
func SecretOf(configuration string) string { return configuration + "-cert" }

// The paths of the webhooks.
const (
	GraphsPath     = "/validate-resourcegraphs"
	TransformsPath = "/validate-transforms"
	InstancesPath  = "/validate-instances"
)

// Options configure the server.
type Options struct {
	// Name is the name of the configuration and of the Service: [Applier] or [Manager].
	Name string
	// Address is the address to listen on.
	Address string
	// CertDir is the directory of tls.crt and tls.key, which are loaded again when they
	// change. If it is empty, the program keeps a certificate in the Secret.
	CertDir string
	// Namespace is the namespace of the program, its Secret and its Service.
	Namespace string
	// OwnNamespace makes the webhooks see requests in this namespace, too. It needs webhooks
	// whose failures are ignored, or the program can't be repaired.
	OwnNamespace bool
	// Handlers are the webhooks by their paths, and Others are those that aren't asked about
	// admission.
	Handlers map[string]admission.Handler
	Others   map[string]http.Handler
	// Metrics gets the metric of the certificate, unless it is nil.
	Metrics prometheus.Registerer
}

// identityTimeout bounds the question who the program is.
const identityTimeout = 10 * time.Second

// Setup adds the server, its certificate and its readiness check to a manager. All replicas
// serve.
func Setup(ctx context.Context, m manager.Manager, o Options) error {
	host, port, err := split(o.Address)
	if err != nil {
		return err
	}
	conditions, err := ownConditions(ctx, m, o)
	if err != nil {
		return err
	}
	secret := types.NamespacedName{Namespace: o.Namespace, Name: SecretOf(o.Name)}
	if o.CertDir != "" {
		secret.Name = ""
	}
	keeper, err := certs.NewKeeper(m.GetConfig(), m.GetHTTPClient(), certs.Options{
		Secret: secret, Configuration: o.Name, Service: o.Name,
		Conditions: conditions, Log: m.GetLogger().WithName("webhook"),
	})
	if err != nil {
		return err
	}
	if o.Metrics != nil {
		certificate := func() (*tls.Certificate, error) { return keeper.Certificate(nil) }
		if o.CertDir != "" {
			certificate = func() (*tls.Certificate, error) { return loadPair(o.CertDir) }
		}
		if err := o.Metrics.Register(Expiry{certificate}); err != nil {
			return err
		}
	}
	server := webhook.NewServer(webhook.Options{Host: host, Port: port, CertDir: o.CertDir, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		// HTTP/2 allows clients to overload a server by resetting streams (CVE-2023-44487).
		c.NextProtos = []string{"http/1.1"}
		if o.CertDir == "" {
			c.GetCertificate = keeper.Certificate
		}
	}}})
	room := newRoom(roomTimeout)
	for path, handler := range o.Handlers {
		server.Register(path, room.limit(failing(handler)))
	}
	for path, handler := range o.Others {
		server.Register(path, room.limit(handler))
	}
	ready := func(r *http.Request) error {
		if err := keeper.Ready(r); err != nil {
			return err
		}
		return server.StartedChecker()(r)
	}
	return errors.Join(m.Add(server), m.Add(keeper), m.AddReadyzCheck("webhook", ready))
}

// logReviews is the logger of a request. Requests that aren't reviews aren't logged: their
// number is of their senders' choice.
func logReviews(base logr.Logger, request *admission.Request) logr.Logger {
	if request == nil {
		return logr.Discard()
	}
	return admission.DefaultLogConstructor(base, request)
}

// ownConditions returns the match conditions that keep requests of the program itself, and
// those in its namespace, from the webhooks: it must be possible to repair the program while
// it doesn't run. They are made when the program starts, because a manifest would name an
// account and a namespace that others can create if the program runs elsewhere.
func ownConditions(ctx context.Context, m manager.Manager, o Options) ([]admissionregistrationv1.MatchCondition, error) {
	client, err := authenticationclient.NewForConfigAndClient(m.GetConfig(), m.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, identityTimeout)
	defer cancel()
	self, err := client.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("asking the API server for the program's account: %w", err)
	}
	conditions := []admissionregistrationv1.MatchCondition{
		{Name: "not-the-program", Expression: "request.userInfo.username != " + strconv.Quote(self.Status.UserInfo.Username)},
	}
	if !o.OwnNamespace {
		conditions = append(conditions, admissionregistrationv1.MatchCondition{
			Name: "not-its-namespace", Expression: "request.namespace != " + strconv.Quote(o.Namespace),
		})
	}
	return conditions, nil
}

// split returns the host and the port of an address.
func split(address string) (string, int, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err := strconv.Atoi(text)
	return host, port, err
}
