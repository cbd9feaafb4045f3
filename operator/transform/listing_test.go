package transform_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/fetch"
	"github.com/pequod-io/pequod/test/harness"
)

// TestUnlisted has the instances of a ready platform not listed any more, for reasons that the rights
// don't show: the Transform isn't ready then, and is again when they are listed.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.options.Listing = func(key types.NamespacedName) catalog.Listing {
		l := b.catalog.Listing(key)
		l.Since = l.Since.Add(-time.Hour) // the patience with a failure is over
		return l
	}
	b.start(b.Config)
	key := types.NamespacedName{Namespace: b.Namespace, Name: "app"}
	b.create(b.transform("app", b.appModule("text: string")))
	b.blocked("app", v1alpha1.ConditionReady, "InstancesNotListed", "the instances were not listed yet; see kubectl get apps."+b.group+" -A")
	b.catalog.Listed(key, nil)
	b.ready("app")
	b.catalog.Listed(key, errors.New("etcdserver: request timed out"))
	b.blocked("app", v1alpha1.ConditionReady, "InstancesNotListed", "the instances can't be listed, which is repeated: etcdserver: request timed out; see kubectl get")
	b.catalog.Listed(key, apierrors.NewForbidden(schema.GroupResource{Group: b.group, Resource: "apps"}, "", errors.New("no")))
	b.blocked("app", v1alpha1.ConditionRBACConfigured, "InstancesForbidden", "to let it, apply this ClusterRole: ")
	b.catalog.Listed(key, nil)
	b.ready("app")
}

// slowFetcher fetches when it may.
type slowFetcher struct {
	*fetcher
	may chan struct{}
}

func (f slowFetcher) Fetch(ctx context.Context, t *v1alpha1.Transform) (*fetch.Fetched, error) {
	select {
	case <-f.may:
		return f.fetcher.Fetch(ctx, t)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestProgressing creates a Transform whose module takes long to fetch. Its status says so, instead of
// what the API server says of one that no manager has seen.
func TestProgressing(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	may := make(chan struct{})
	release := sync.OnceFunc(func() { close(may) })
	defer release()
	b.options.Fetcher = slowFetcher{b.fetcher, may}
	b.create(b.transform("app", b.appModule("text: string")))
	b.until("app", func(t *v1alpha1.Transform) error {
		if len(t.Status.Conditions) == 0 || t.Status.Conditions[0].Reason != "WaitingForManager" {
			return errors.New("not WaitingForManager")
		}
		return nil
	})
	b.start(b.Config)
	b.blocked("app", v1alpha1.ConditionCueFetched, "Progressing", "the module is being fetched and evaluated")
	release()
	b.ready("app")
}

// silentServer doesn't answer for references to git.
type silentServer struct{ *fetcher }

func (f silentServer) Fetch(ctx context.Context, t *v1alpha1.Transform) (*fetch.Fetched, error) {
	if t.Spec.CueRef.Type == v1alpha1.CueRefGit {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return f.fetcher.Fetch(ctx, t)
}

// TestSilentServer has more Transforms than goroutines whose server doesn't answer. Another one becomes ready.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.options.Concurrent, b.options.Fetcher = 2, silentServer{b.fetcher}
	b.start(b.Config)
	for i := range 4 {
		silent := b.transform(fmt.Sprint("silent-", i), "")
		silent.Spec.CueRef = v1alpha1.CueRef{Type: v1alpha1.CueRefGit, Ref: "git::https://git.example.com/shop.git"}
		b.create(silent)
	}
	for i := range 4 {
		b.blocked(fmt.Sprint("silent-", i), v1alpha1.ConditionCueFetched, "Progressing", "")
	}
	b.create(b.transform("app", b.appModule("text: string")))
	b.ready("app")
}
