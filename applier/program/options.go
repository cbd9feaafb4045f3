package program

import (
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Options configure a program.
type Options struct {
	// Name is the name of the program.
	Name string
	// Version is logged, and sent to the API server as part of the user agent.
	Version string
	// Scheme has the kinds that the controllers use.
	Scheme *runtime.Scheme
	// Cache configures the manager's cache.
	Cache cache.Options
	// Scopes are the scopes of the kinds that Cache names. Those that it lacks are found by
	// discovery, without which the program then can't start.
	Scopes map[schema.GroupVersionKind]meta.RESTScope
	// Needs are the resources that the program can't work without. It is ready
	// when they are served and it may list them.
	Needs []schema.GroupVersionResource
	// Namespace is where the program must be able to list them; empty means all
	// namespaces.
	Namespace string
	// Setup adds the controllers and their readiness checks to the manager.
	Setup   func(manager.Manager) error
	Metrics Metrics
	// Probes is the address of /healthz and /readyz; "0" disables them.
	Probes   string
	Election Election
	// Shutdown is how long controllers may take to complete requests in flight; 0
	// means 20 seconds.
	Shutdown time.Duration
	Log      logr.Logger
}

// Metrics configures the endpoint /metrics.
type Metrics struct {
	// Address is the address to listen on; "0" disables the endpoint.
	Address string
	// Secure serves HTTPS to clients that the API server authenticates and
	// authorizes to get the URL /metrics. Otherwise HTTP is served to everyone.
	Secure bool
	// CertDir is the directory of the certificate and its key, which are loaded
	// again when they change. If it is empty, the certificate is self-signed and
	// kept in memory.
	CertDir string
	// CertName and KeyName are the names of the files in CertDir.
	CertName, KeyName string
}

// Election configures leader election: only one of several replicas works.
type Election struct {
	Enabled bool
	// Namespace is the namespace of the lease; empty means that of the Pod.
	Namespace string
	// Lease is the name of the lease; empty means that of the program. Programs with
	// the same lease are replicas, and one of them works at a time.
	Lease string
	// Shards is the number of shards into which the replicas divide their work. If it is more
	// than 1, all of them work, and Setup has to hold the leases, see [Options.Replica].
	Shards int
}
