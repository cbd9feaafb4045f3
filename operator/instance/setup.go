package instance

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/rollout/board"
)

// Setup adds the controllers to a manager. They don't use the manager's cache: it can't drop
// the informers of a kind that is gone.
func Setup(mgr manager.Manager, o Options) error {
	if o.Catalog == nil || o.Renderer == nil {
		return errors.New("operator/instance: a catalog and a renderer are needed")
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	if o.Board == nil {
		o.Board = board.New()
	}
	if o.Concurrent <= 0 {
		o.Concurrent = 4
	}
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS = -1 // the API server limits requests itself
	watching, err := dynamic.NewForConfigAndClient(config, mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	writing, err := metadata.NewForConfigAndClient(config, mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	var watch func(context.Context)
	if o.Graphs == nil {
		o.Graphs = NewGraphs()
		if watch, err = watchGraphs(mgr.GetConfig(), o.Graphs); err != nil {
			return err
		}
	}
	c := &controllers{running: map[schema.GroupKind]*runningKind{}, services: &services{
		Options: o, dynamic: watching, metadata: writing, watchGraphs: watch,
		progress: flowcontrol.NewTokenBucketPassiveRateLimiter(progressAverage, progressAtOnce),
		events:   mgr.GetEventRecorder(v1alpha1.ManagerProgram), log: mgr.GetLogger().WithName("instance"), now: time.Now,
	}}
	o.Graphs.changed = c.graphChanged
	o.Catalog.OnRights(c.tryForbidden)
	if o.Counted != nil {
		o.Counted(c.countPhases)
	}
	var leading atomic.Bool
	if err := mgr.AddReadyzCheck("instances", func(*http.Request) error {
		select {
		case <-c.Graphs.listed:
		default:
			if leading.Load() {
				return errors.New("the ResourceGraphs of instances aren't listed yet")
			}
		}
		return nil
	}); err != nil {
		return err
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		leading.Store(true)
		return c.run(ctx)
	}))
}
