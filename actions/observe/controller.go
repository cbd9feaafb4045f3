package observe

import (
	"math"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Controller adds a controller of a kind in a cache to a manager. It processes one object at a time.
func Controller[T client.Object](mgr manager.Manager, from cache.Cache, name string, kind T, reconciler reconcile.Func) error {
	c, err := controller.New(name, mgr, controller.Options{
		Reconciler: reconciler, MaxConcurrentReconciles: 1, SkipNameValidation: new(true),
		// The kind may be installed later.
		CacheSyncTimeout: math.MaxInt64,
	})
	if err != nil {
		return err
	}
	return c.Watch(source.Kind(from, kind, &handler.TypedEnqueueRequestForObject[T]{}))
}
