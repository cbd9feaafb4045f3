package instance

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/reconciling"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/rollout/board"
)

// Options configure the controllers.
type Options struct {
	// Catalog lists the platforms whose instances are handled, and Renderer renders them.
	Catalog  *catalog.Catalog
	Renderer Renderer
	// Program identifies the code of this program. Another one may render instances otherwise.
	Program string
	// Board is where the executor of rollouts assigns versions. nil means that there is none;
	// then an instance keeps its version as long as its Transform has rollout settings.
	Board *board.Board
	// Graphs are the graphs that the manager made. The controller that executes them fills it, as
	// the Graphs of its Operator. Nil means that the controllers of instances watch the graphs
	// themselves.
	Graphs *Graphs
	// RenderOnly leaves the execution of the graphs to pequod-applier.
	RenderOnly bool
	// Concurrent is the number of instances of a kind that are handled at once; 0 means 4.
	Concurrent int
	// Metrics receives what is to be counted; nil means that nothing is.
	Metrics Recorder
	// Counted, unless it is nil, gets a function that calls another one with the number of
	// instances of each platform in each phase.
	Counted func(count func(each func(platform, phase string, instances int)))
}

// Recorder counts what happens to instances.
type Recorder interface {
	reconciling.Recorder
	// PolicyViolations counts findings of policies that refuse a generation of an instance.
	PolicyViolations(severity string, count int)
}

// noMetrics is a Recorder that counts nothing.
type noMetrics struct{ reconciling.NoMetrics }

func (noMetrics) PolicyViolations(string, int) {}

// Renderer renders instances. Its method may be called concurrently.
type Renderer interface {
	// Render renders an instance with the platform of an entry. The graph is nil if the
	// problems have an error. An error that is a [problem.List] means that the platform is
	// wrong; any other error may pass.
	Render(ctx context.Context, entry *catalog.Entry, instance *unstructured.Unstructured) (*v1alpha1.ResourceGraph, problem.List, error)
}

// services are shared by the controllers of all kinds.
type services struct {
	Options
	dynamic  dynamic.Interface  // for informers
	metadata metadata.Interface // for all other requests: their answers have no specs
	// watchGraphs watches the graphs until its context is done; nil if others do.
	watchGraphs func(context.Context)
	// progress limits the writes of statuses that only show progress.
	progress flowcontrol.PassiveRateLimiter
	events   events.EventRecorder
	log      logr.Logger
	now      func() time.Time
}
