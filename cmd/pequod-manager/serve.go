package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller"
	appliermetrics "github.com/pequod-io/pequod/applier/metrics"
	"github.com/pequod-io/pequod/applier/program"
	"github.com/pequod-io/pequod/cmd/internal/incluster"
	"github.com/pequod-io/pequod/internal/confine"
	modulecache "github.com/pequod-io/pequod/modules/cache"
	"github.com/pequod-io/pequod/operator/admission/conversion"
	"github.com/pequod-io/pequod/operator/admission/instances"
	hooks "github.com/pequod-io/pequod/operator/admission/serve"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/fetch"
	"github.com/pequod-io/pequod/operator/identity"
	"github.com/pequod-io/pequod/operator/instance"
	operatormetrics "github.com/pequod-io/pequod/operator/metrics"
	"github.com/pequod-io/pequod/operator/revision"
	"github.com/pequod-io/pequod/operator/rollout/board"
	"github.com/pequod-io/pequod/operator/rollout/execute"
	"github.com/pequod-io/pequod/operator/source"
	"github.com/pequod-io/pequod/operator/transform"
	"github.com/pequod-io/pequod/operator/worker"
)

// serve runs the controllers until ctx is done and requests in flight have ended. The
// program is ready only if the cluster serves Transforms and ResourceGraphs and has the
// policy that protects graphs. It returns an error if the program cannot start or cannot
// continue, and nil after a signal.
func (o *options) serve(ctx context.Context, config *rest.Config, log logr.Logger, s *incluster.Settings) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(transform.AddToScheme(scheme), admissionv1.AddToScheme(scheme)); err != nil {
		return err
	}
	modules, err := cacheOptions(os.LookupEnv)
	if err != nil {
		return err
	}
	// The pool of processes outlives the controllers, which use it until they end.
	renders := operatormetrics.NewRenders(metrics.Registry)
	pool, err := worker.New(worker.Options{
		Dir: o.dir("platforms"), Timeout: o.evaluation.timeout, Memory: uint64(o.evaluation.memory) << 20, Processes: o.evaluation.processes,
		Budget: o.evaluation.budget, Metrics: renders, Log: log.WithName("worker"),
	})
	if err != nil {
		return err
	}
	defer pool.Close()
	if missing := confine.Missing(); missing != "" {
		log.Info("the processes that evaluate modules aren't confined", "missing", missing)
	}
	p := s.Program(log, scheme)
	p.Needs = []schema.GroupVersionResource{
		v1alpha1.GroupVersion.WithResource("resourcegraphs"), v1alpha1.GroupVersion.WithResource("transforms"),
	}
	if o.artifacts.enabled() {
		p.Needs = append(p.Needs, v1alpha1.GroupVersion.WithResource("instancesources"))
	}
	p.Cache, p.Scopes = cache.Options{ByObject: o.cached()}, scopes()
	p.Setup = func(m manager.Manager) error { return o.setup(ctx, m, s, modules, pool) }
	return program.Run(ctx, config, p)
}

// cached returns the options of the cache for the objects that the controllers read.
func (o *options) cached() map[client.Object]cache.ByObject {
	objects := transform.ByObject(o.namespace)
	maps.Copy(objects, identity.ByObject())
	maps.Copy(objects, instances.ByObject(hooks.Manager))
	maps.Copy(objects, source.ByObject())
	return objects
}

// setup adds the controllers to the manager: of Transforms, of instances, and of graphs if it
// executes them. They share the catalog of platforms and the pool of processes that evaluate them.
func (o *options) setup(ctx context.Context, m manager.Manager, s *incluster.Settings, modules modulecache.Options, pool *worker.Pool) error {
	client, err := typedcorev1.NewForConfigAndClient(m.GetConfig(), m.GetHTTPClient())
	if err != nil {
		return err
	}
	counters := appliermetrics.New(metrics.Registry)
	platforms := catalog.New()
	modules.Warn = func(err error) { m.GetLogger().Error(err, "modules are not kept on disk") }
	fetcher := fetch.New(fetch.Options{Client: client, Cache: modules, Registry: os.Getenv("CUE_REGISTRY"), UserAgent: m.GetConfig().UserAgent, Organization: fetch.Organization{
		Policies: o.policies, Namespace: o.namespace, PullSecret: o.policySecret,
	}})
	fetcher.Fetched = operatormetrics.NewSources(metrics.Registry, fetcher.CacheStats).Fetched
	transforms := transform.Options{
		Catalog: platforms, Fetcher: fetching{fetcher}, Loader: pool, Namespace: o.namespace, Namespaces: o.transformNamespaces,
		Listing: platforms.Listing, RenderOnly: !o.execute, Policies: o.policiesKey(), Metrics: transformMetrics{counters.Controller("transform"), operatormetrics.NewTransforms(metrics.Registry)},
	}
	converting := catalog.New()
	if s.Webhooks.Enabled {
		transforms.Converting = converting
		transforms.Conversion = func(ctx context.Context) (*apiextensionsv1.CustomResourceConversion, error) {
			return conversion.Stanza(ctx, m.GetClient(), hooks.Manager)
		}
	}
	err = transform.Setup(m, transforms)
	if err != nil {
		return err
	}
	revisions := revision.Store{Client: m.GetClient(), API: m.GetAPIReader(), Namespace: o.namespace}
	versions := board.New()
	evaluator := instance.Pooled(pool, revisions)
	var graphs *instance.Graphs // if they are executed, both controllers share a watch
	if o.execute {
		graphs = instance.NewGraphs()
	}
	code, err := executable()
	if err != nil {
		return err
	}
	err = instance.Setup(m, instance.Options{
		Catalog: platforms, Renderer: evaluator, Program: code, Board: versions, Graphs: graphs, RenderOnly: !o.execute, Metrics: counters.Controller("platforminstance"),
		Counted: func(count func(func(platform, phase string, instances int))) {
			metrics.Registry.MustRegister(operatormetrics.Instances{Count: count})
		},
	})
	if err != nil {
		return err
	}
	err = execute.Setup(m, execute.Options{Catalog: platforms, Board: versions, Revisions: revisions})
	if err != nil {
		return err
	}
	if err := o.setupWebhooks(ctx, m, s, webhookParts{platforms, converting, revisions, pool, evaluator}); err != nil {
		return err
	}
	if err := o.setupArtifacts(m, counters, platforms, evaluator); err != nil || !o.execute {
		return err
	}
	return o.setupExecution(ctx, m, s, counters, graphs)
}

// setupExecution adds the controller of graphs, which fills rendered.
func (o *options) setupExecution(ctx context.Context, m manager.Manager, s *incluster.Settings, counters *appliermetrics.Metrics, rendered *instance.Graphs) error {
	guard, err := identity.NewGuard(ctx, m.GetCache())
	if err != nil {
		return err
	}
	if err := m.AddReadyzCheck("graph-policy", guard.Check); err != nil {
		return err
	}
	graphs := s.Graphs
	graphs.Metrics, graphs.AtRest = counters, incluster.FreeMemory
	graphs.Operator = &controller.Operator{
		Account: func(rg *v1alpha1.ResourceGraph) (types.NamespacedName, error) {
			return identity.Account(o.namespace, rg)
		},
		Lost: transform.Lost(m.GetClient(), m.GetAPIReader()), Refused: guard.Refused, Changed: guard.Changed(), Graphs: rendered,
	}
	return controller.Setup(m, graphs)
}

// executable returns the digest of the file of this program. Builds differ even with the same version.
func executable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// dir returns a directory beside the cache of modules.
func (o *options) dir(name string) string {
	return filepath.Join(cmp.Or(os.Getenv("PEQUOD_CACHE_DIR"), cacheDefaults["PEQUOD_CACHE_DIR"]), name)
}

// policiesKey identifies the policies of the organization. With other policies, versions that
// were kept are not used: a version that was not checked by a policy must not be used if that
// policy can't be opened.
func (o *options) policiesKey() string {
	if len(o.policies) == 0 {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(o.policies, "\n"))))
}

// transformMetrics implements [transform.Recorder].
type transformMetrics struct {
	*appliermetrics.Controller
	*operatormetrics.Transforms
}

// fetching is a fetcher in the form of package transform.
type fetching struct{ *fetch.Fetcher }

// Fetch implements [transform.Fetcher].
func (f fetching) Fetch(ctx context.Context, t *v1alpha1.Transform) (*transform.Fetched, error) {
	fetched, err := f.Fetcher.Fetch(ctx, t)
	return (*transform.Fetched)(fetched), err
}
