package cluster

import (
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// Client sends requests to one cluster as one identity. It is safe for
// concurrent use as long as its exported fields aren't changed.
type Client struct {
	config  *rest.Config      // the configuration that As copies
	http    *http.Client      // authenticates; its connections are shared by As
	rest    rest.Interface    // for requests whose bodies are decoded here
	objects dynamic.Interface // for reads, lists and watches
	kinds   *Kinds            // shared by As
	// DryRun sends every write as a dry run: the API server admits and defaults
	// the object and stores nothing.
	DryRun bool
	// Propagation is the propagation policy of deletions. If it is empty, the
	// policy depends on the kind: workloads and custom resources are deleted in
	// the foreground, so that they disappear only after their dependents, and
	// all other objects, which have no dependents, in the background.
	Propagation Propagation
	// Fallback replaces dry runs that the account may not send. Nil means that they
	// fail. It has no effect unless DryRun is set.
	Fallback *Fallback

	// before is the live object of a preview, nil if it isn't known.
	before *unstructured.Unstructured
}

// Propagation is a deletion propagation policy.
type Propagation string

// The propagation policies: the object is deleted after its dependents, before
// them, or without them.
const (
	Foreground Propagation = "Foreground"
	Background Propagation = "Background"
	Orphan     Propagation = "Orphan"
)

// New returns a client for a configuration. Requests are not throttled on the
// client side; the API server's priority and fairness limits them.
func New(config *rest.Config) (*Client, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return NewForConfigAndClient(config, client)
}

// NewForConfigAndClient is [New] with an HTTP client, which determines the identity
// and owns the connections.
func NewForConfigAndClient(config *rest.Config, client *http.Client) (*Client, error) {
	config = dynamic.ConfigFor(config)
	config.QPS = -1
	// Requests have absolute paths, as in dynamic.NewForConfigAndClient.
	config.GroupVersion, config.APIPath = nil, "/"
	r, err := rest.UnversionedRESTClientForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return &Client{config: config, http: client, rest: r, objects: dynamic.New(r), kinds: NewKinds(r)}, nil
}

// As returns a client that impersonates a user. The identity of c needs the
// right to impersonate that user. Both clients share connections and the
// discovered kinds, so a client per identity costs little.
func (c *Client) As(user string) (*Client, error) {
	other := *c.http
	other.Transport = transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{UserName: user}, c.http.Transport)
	as, err := NewForConfigAndClient(c.config, &other)
	if err != nil {
		return nil, err
	}
	as.kinds, as.DryRun, as.Propagation = c.kinds, c.DryRun, c.Propagation
	return as, nil
}

// REST returns the REST client, for requests that Client has no method for.
func (c *Client) REST() rest.Interface { return c.rest }

// Kinds returns the kinds that the cluster serves. Clients that were made by
// [Client.As] share them.
func (c *Client) Kinds() *Kinds { return c.kinds }
