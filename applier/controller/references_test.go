package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// provider is another namespace whose ConfigMaps graphs refer to.
type provider struct {
	*env
	namespace string
	names     []string
}

// newProvider makes n ConfigMaps, and lets the account of graphs read them by name.
func newProvider(b *env, n int) *provider {
	b.t.Helper()
	p := &provider{b, b.Unique("other"), nil}
	ctx := b.t.Context()
	if _, err := b.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = b.Client.CoreV1().Namespaces().Delete(b.background(), p.namespace, metav1.DeleteOptions{}) })
	for i := range n {
		p.names = append(p.names, fmt.Sprintf("r%d", i))
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: p.names[i]}, Data: map[string]string{"a": "0"}}
		if _, err := b.Client.CoreV1().ConfigMaps(p.namespace).Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			b.t.Fatal(err)
		}
	}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "pequod"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: p.names, Verbs: []string{"get", "list", "watch"}},
	}}
	if _, err := b.Client.RbacV1().Roles(p.namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	p.bind()
	return p
}

func (p *provider) bind() {
	p.t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "pequod"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "pequod"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "pequod", Namespace: p.Namespace}},
	}
	if _, err := p.Client.RbacV1().RoleBindings(p.namespace).Create(p.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

// revoke takes the rights away, and waits until the API server knows.
func (p *provider) revoke() {
	p.t.Helper()
	if err := p.Client.RbacV1().RoleBindings(p.namespace).Delete(p.t.Context(), "pequod", metav1.DeleteOptions{}); err != nil {
		p.t.Fatal(err)
	}
	config := rest.CopyConfig(p.Config)
	config.Impersonate.UserName = "system:serviceaccount:" + p.Namespace + ":pequod"
	account, err := kubernetes.NewForConfig(config)
	if err != nil {
		p.t.Fatal(err)
	}
	harness.Eventually(p.t, p.patience, func(ctx context.Context) error {
		if _, err := account.CoreV1().ConfigMaps(p.namespace).Get(ctx, p.names[0], metav1.GetOptions{}); !apierrors.IsForbidden(err) {
			return fmt.Errorf("the account may still read: %v", err)
		}
		return nil
	})
}

func (p *provider) write(name, value string) {
	p.t.Helper()
	_, err := p.Client.CoreV1().ConfigMaps(p.namespace).Patch(p.t.Context(), name, types.MergePatchType,
		[]byte(`{"data":{"a":"`+value+`"}}`), metav1.PatchOptions{FieldManager: "somebody"})
	if err != nil {
		p.t.Fatal(err)
	}
}

// graph applies a graph with references to some ConfigMaps. It copies the first one to
// a ConfigMap with the graph's name.
func (p *provider) graph(name string, references []string) {
	p.t.Helper()
	var list []string
	for _, r := range references {
		list = append(list, `{id: `+r+`, externalRef: {apiVersion: v1, kind: ConfigMap, name: `+r+`, namespace: `+p.namespace+`}}`)
	}
	list = append(list, `{id: copy, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`}, data: {a: {$from: '`+references[0]+`.data.a'}}}}`)
	p.apply(p.rendered(name, "nodes: ["+strings.Join(list, ", ")+"]"))
}

// A hundred references of several graphs to one namespace share a watch. The graphs see
// changes, but nothing that their account may not read.
func TestReferencesShareAWatch(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.options.ReadTrust = time.Second
	p := newProvider(b, 100)
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.applierConfig()))
	var names []string
	for g := range 5 {
		names = append(names, fmt.Sprintf("web%d", g))
		p.graph(names[g], p.names[20*g:20*g+20])
	}
	for _, name := range names {
		b.ready(name)
	}
	for g, name := range names {
		p.write(p.names[20*g], name)
	}
	for _, name := range names {
		b.eventually("changed", func(ctx ctx) bool { return b.data(ctx, name) == name })
	}
	// The watch may begin again while graphs join it.
	watches := proxy.Count(func(r faults.Request) bool { return r.Verb == "watch" && r.Namespace == p.namespace })
	if watches == 0 || watches > len(names) {
		t.Errorf("%d watches for 100 references", watches)
	}
	for _, name := range names {
		b.ready(name)
	}
	// Nothing is read again and again.
	b.quiet(proxy)

	p.revoke()
	time.Sleep(2 * b.options.ReadTrust) // the trust ends
	p.write("r0", "revoked")
	b.until("web0", failed("r0"))
	if got := b.data(t.Context(), "web0"); got != "web0" {
		t.Errorf("the graph read %q with revoked rights", got)
	}
	// A graph doesn't even learn whether an object exists.
	if err := b.Client.CoreV1().ConfigMaps(p.namespace).Delete(t.Context(), "r21", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	rg := b.until("web1", failed("r21"))
	if s := rg.Status.NodeStates["r21"]; !strings.Contains(s.Message, "forbidden") {
		t.Errorf("r21: %s", s.Message)
	}
	p.bind()
	tries := 0
	b.eventually("read again", func(ctx ctx) bool {
		tries++
		p.write("r0", fmt.Sprintf("allowed%d", tries))
		return strings.HasPrefix(b.data(ctx, "web0"), "allowed")
	})
}

// failed wants a node to have failed.
func failed(node string) func(*v1alpha1.ResourceGraph) error {
	return func(rg *v1alpha1.ResourceGraph) error {
		if s := rg.Status.NodeStates[node]; s.Phase != v1alpha1.NodeFailed {
			return fmt.Errorf("node %s is %s", node, s.Phase)
		}
		return nil
	}
}

// A graph doesn't make the applier watch a namespace that its account may not read.
func TestUnreadableReferencesShareNoWatch(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	p := newProvider(b, 12)
	p.revoke()
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.applierConfig()))
	p.graph("web", p.names)
	b.until("web", failed("r0"))
	own := func(r faults.Request) bool { return r.Namespace == p.namespace && r.As == "" }
	b.eventually("tried by name", func(ctx) bool {
		return proxy.Count(func(r faults.Request) bool { return r.Verb == "list" && r.Namespace == p.namespace && r.As != "" }) >= 12
	})
	// The shared watch has ended: it doesn't begin again when it is lost.
	if err := proxy.Down(); err != nil {
		t.Fatal(err)
	}
	proxy.Reset()
	if err := proxy.Up(); err != nil {
		t.Fatal(err)
	}
	b.eventually("tried again", func(ctx) bool {
		return proxy.Count(func(r faults.Request) bool { return r.Namespace == p.namespace && r.As != "" }) >= 24
	})
	if n := proxy.Count(own); n > 0 {
		t.Errorf("%d requests of the applier itself", n)
	}
}

// If the applier may not watch a kind, references are watched by name, as the account.
func TestReferencesAreWatchedByName(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	p := newProvider(b, 12)
	proxy := b.Proxy(t, 1)
	refusal := faults.Status{Code: 403}
	proxy.Inject(faults.Rule{Verbs: []string{"list"}, Resources: []string{"configmaps"}, Namespaces: []string{p.namespace}, Times: 1, Faults: []faults.Fault{refusal}})
	b.start(proxy.Config(b.applierConfig()))
	p.graph("web", p.names)
	b.ready("web")
	b.eventually("watched", func(ctx) bool {
		return proxy.Count(func(r faults.Request) bool { return r.Verb == "watch" && r.Namespace == p.namespace && r.As != "" }) >= 12
	})
	p.write("r0", "changed")
	b.eventually("changed", func(ctx ctx) bool { return b.data(ctx, "web") == "changed" })
}
