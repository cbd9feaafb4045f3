package graphs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/pequod-io/pequod/applier/rbac"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// generous grants everything but impersonation, and counts the questions. Real reviews
// of so many rights could take longer than a request may.
type generous struct {
	authorizationclient.SubjectAccessReviewInterface
	count atomic.Int32
}

func (g *generous) Create(_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	g.count.Add(1)
	review.Status.Allowed = review.Spec.ResourceAttributes.Verb != "impersonate"
	return review, nil
}

// TestTooManyReviews holds the number of reviews for one request. Each namespace needs one
// for each of four verbs.
func TestTooManyReviews(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.webhook(t, f.Config)
	for _, namespaces := range []int{maxReviews / 4, maxReviews/4 + 1} {
		g := &generous{}
		w.reviews = newReviews(g)
		var nodes []string
		for i := range namespaces {
			nodes = append(nodes, fmt.Sprintf(`{id: n%d, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: n%[1]d}}}`, i))
		}
		response := w.Handle(t.Context(), f.request("configmaps", f.raw(t, "", "["+strings.Join(nodes, ", ")+"]"), runtime.RawExtension{}))
		within := namespaces*4 <= maxReviews
		if response.Allowed != within || !within && !strings.Contains(response.Result.Message, errTooManyReviews.Error()) {
			t.Errorf("%d namespaces: %+v", namespaces, response.Result)
		}
		// One more asks about impersonation.
		if n := g.count.Load(); n > maxReviews+1 {
			t.Errorf("%d namespaces: %d reviews", namespaces, n)
		}
	}
}

// TestReviewsInFlight holds the number of reviews that the API server gets at a time, of all
// requests together.
func TestReviewsInFlight(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	proxy := f.Proxy(t, 1)
	w := f.webhook(t, proxy.Config(f.Config))
	proxy.Inject(faults.Rule{Faults: []faults.Fault{faults.Hang{}}}) // so all that arrive are in flight
	inFlight := func() int {
		return proxy.Count(func(r faults.Request) bool { return r.Resource == "subjectaccessreviews.authorization.k8s.io" })
	}
	ask := func(ctx context.Context, namespace string) error {
		_, err := w.reviews.allowed(ctx, f.users["nothing"], rbac.Right{Verb: "get", Resource: "configmaps", Namespace: namespace})
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for i := range parallelTotal + 1 {
		all.Go(func() { _ = ask(ctx, fmt.Sprint("n", i)) }) // the error of ctx
	}
	harness.Eventually(t, 3*time.Minute, func(context.Context) error {
		if n := inFlight(); n < parallelTotal {
			return fmt.Errorf("%d reviews in flight, want %d", n, parallelTotal)
		}
		return nil
	})
	short, done := context.WithTimeout(ctx, time.Second)
	defer done()
	if err := ask(short, "more"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one more: %v", err)
	}
	if n := inFlight(); n != parallelTotal {
		t.Errorf("%d reviews in flight, want %d", n, parallelTotal)
	}
}
