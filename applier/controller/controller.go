package controller

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/share"
)

// controller is what all drivers share.
type controller struct {
	Options
	own    *cluster.Client // as the applier itself
	graphs rest.Interface
	share  *share.Share
	events events.EventRecorder
	log    logr.Logger
	now    func() time.Time
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]

	leads, listed atomic.Bool // it works, and knows the graphs

	mu      sync.Mutex
	drivers map[types.NamespacedName]*driver
}
