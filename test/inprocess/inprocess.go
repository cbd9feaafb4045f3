// Package inprocess runs controllers in the process of a test, against the control plane of
// package harness. Package process runs them as they are installed.
//
// [Install] and [Start] are the entry points; [Execute] is both with an applier.
package inprocess

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller"
	"github.com/pequod-io/pequod/applier/program"
	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/test/harness"
)

// Main runs the tests of a package whose controllers log nothing.
func Main(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	harness.Parallel()
	os.Exit(m.Run())
}

// Install installs the definitions of Pequod's kinds.
func Install(t testing.TB, c *harness.Cluster) {
	t.Helper()
	for document := range strings.SplitSeq(string(config.Operator), "\n---\n") {
		if strings.Contains(document, "kind: CustomResourceDefinition\n") {
			c.Apply(t, document)
		}
	}
}

// Anything are the rights to do anything.
func Anything() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}
}

// Account makes a service account that has rights in the test's namespace. If it exists, it is
// left as it is.
func Account(t testing.TB, c *harness.Cluster, name string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	if _, err := c.Client.RbacV1().Roles(c.Namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: c.Namespace}},
	}
	if _, err := c.Client.RbacV1().RoleBindings(c.Namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	// The account comes last, because a graph may be waiting for it.
	c.ServiceAccount(t, c.Namespace, name)
}

// Execute runs an applier that executes the graphs of the test's namespace, until the test
// ends. Its account may do anything there.
func Execute(t testing.TB, c *harness.Cluster) {
	t.Helper()
	Install(t, c)
	Account(t, c, "pequod", Anything())
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	m, err := manager.New(c.Config, manager.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := controller.Setup(m, controller.Options{DefaultServiceAccount: "pequod", Namespace: c.Namespace}); err != nil {
		t.Fatal(err)
	}
	Start(t, m, "")
}

// NewManager returns a manager of a scheme whose cache has the given options. It logs nothing, serves
// no metrics, and doesn't wait for its controllers when it ends.
func NewManager(config *rest.Config, scheme *runtime.Scheme, objects map[client.Object]cache.ByObject) (manager.Manager, error) {
	return manager.New(config, manager.Options{
		Scheme: scheme, Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}, Cache: cache.Options{ByObject: objects},
		GracefulShutdownTimeout: new(time.Duration(0)),
	})
}

// stopPatience bounds how long a manager may take to end on a busy machine.
const stopPatience = 2 * time.Minute

// Start runs a manager until stop is called, or the test ends. If the manager ends with an error,
// the test fails, unless the error contains tolerated and that isn't empty.
func Start(t testing.TB, m manager.Manager, tolerated string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- program.Start(ctx, m) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil && (tolerated == "" || !strings.Contains(err.Error(), tolerated)) {
				t.Errorf("manager: %v", err)
			}
		case <-time.After(stopPatience):
			t.Errorf("manager: it has not ended after %s", stopPatience)
		}
	})
	t.Cleanup(stop)
	return stop
}
