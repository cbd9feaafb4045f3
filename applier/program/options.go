package program

import (
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Options are those of one program.
type Options struct {
	// Name is that of the program. Its lease is called the same.
	Name string
	// Version is told in the log and to the API server.
	Version string
	Scheme  *runtime.Scheme
	// Cache says how what controllers watch through the manager is kept.
	Cache cache.Options
	// Needs are the resources that the program can't do without: it is ready when
	// they are served and it may list them.
	Needs []schema.GroupVersionResource
	// Setup adds the controllers, and what else they need to be ready.
	Setup   func(manager.Manager) error
	Metrics Metrics
	// Probes is the address of /healthz and /readyz; "0" means none.
	Probes   string
	Election Election
	// Shutdown is how long controllers may take to end what they are at; 0
	// means 20 seconds.
	Shutdown time.Duration
	Log      logr.Logger
}

// Metrics says where and how /metrics is served.
type Metrics struct {
	// Address is where to listen; "0" means nowhere.
	Address string
	// Secure serves HTTPS, to those whom the API server knows and allows to get
	// the URL /metrics. Otherwise it is HTTP, to everybody.
	Secure bool
	// CertDir holds the certificate and its key, which are read again when they
	// change. Without it the certificate is self-signed, and lives in memory.
	CertDir, CertName, KeyName string
}

// Election lets one of several replicas work.
type Election struct {
	Enabled bool
	// Namespace is where the lease is; in a cluster it is by default that of
	// the Pod.
	Namespace string
}
