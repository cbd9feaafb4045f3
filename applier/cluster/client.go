package cluster

import (
	"net/http"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// requestTimeout bounds every request but a watch.
const requestTimeout = 30 * time.Second

// Client talks to one cluster as one identity. Any number of goroutines may use it.
type Client struct {
	config  *rest.Config
	http    *http.Client
	rest    rest.Interface
	objects dynamic.Interface
	kinds   *Kinds
	// DryRun sends every write as a dry run: it is admitted, and not stored.
	DryRun bool
	// Propagation says what becomes of the dependents of what is deleted. If it
	// is empty, objects that run something go after their Pods, so that nothing
	// runs without what it needs, and custom resources after what their
	// controllers made; the rest, which has no dependents, goes at once.
	Propagation Propagation
}

// Propagation is a deletion propagation policy.
type Propagation string

// The propagation policies: an object goes after its dependents, before them,
// or without them.
const (
	Foreground Propagation = "Foreground"
	Background Propagation = "Background"
	Orphan     Propagation = "Orphan"
)

// New returns a client for a configuration. It isn't throttled: the API server
// says itself when it has too much to do.
func New(config *rest.Config) (*Client, error) {
	config = dynamic.ConfigFor(config)
	config.QPS = -1
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return newForClient(config, client)
}

func newForClient(config *rest.Config, client *http.Client) (*Client, error) {
	config = rest.CopyConfig(config)
	// As dynamic.NewForConfigAndClient: paths are written out.
	config.GroupVersion, config.APIPath = nil, "/"
	r, err := rest.UnversionedRESTClientForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return &Client{config: config, http: client, rest: r, objects: dynamic.New(r), kinds: NewKinds(r)}, nil
}

// As returns a client that acts as somebody else, whom this one may
// impersonate. It shares connections and the knowledge of kinds: any number of
// identities cost no more than one.
func (c *Client) As(user string) (*Client, error) {
	other := *c.http
	other.Transport = transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{UserName: user}, c.http.Transport)
	as, err := newForClient(c.config, &other)
	if err != nil {
		return nil, err
	}
	as.kinds, as.DryRun, as.Propagation = c.kinds, c.DryRun, c.Propagation
	return as, nil
}

// REST is the client's way to send any other request.
func (c *Client) REST() rest.Interface { return c.rest }

// Kinds are the kinds that the cluster serves.
func (c *Client) Kinds() *Kinds { return c.kinds }
