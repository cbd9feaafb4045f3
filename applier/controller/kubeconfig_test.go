package controller_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// The tests here aren't parallel, so that they need no more than two other control planes.

// otherCluster is a second control plane. It has the namespace of the graphs, whose account
// pequod may do anything there.
type otherCluster struct {
	*env  // its namespace is that of the graphs
	proxy *faults.Proxy
}

// reacher is the user of the kubeconfigs: what docs/operations.md asks for, and no more.
const reacher = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME}
rules:
- {apiGroups: [""], resources: [serviceaccounts], verbs: [impersonate], resourceNames: [pequod]}
- {apiGroups: [""], resources: [namespaces], verbs: [get], resourceNames: [kube-system]}
- {apiGroups: [""], resources: [configmaps], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAME}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAME}
subjects: [{kind: ServiceAccount, name: NAME, namespace: NS}]
`

func (b *env) otherCluster() *otherCluster {
	b.t.Helper()
	c := harness.Borrow(b.t, func(ctx, *harness.Cluster) error { return nil })
	c.Apply(b.t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+b.Namespace+"}}")
	at := *c
	at.Namespace = b.Namespace
	o := &otherCluster{env: &env{Cluster: &at, t: b.t, patience: b.patience}, proxy: c.Proxy(b.t, 1)}
	o.account("pequod", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"}})
	return o
}

// kubeConfig returns a kubeconfig with which a user reaches the cluster.
func (o *otherCluster) kubeConfig(user string) string {
	o.t.Helper()
	config := o.proxy.Config(o.ServiceAccount(o.t, o.Namespace, user))
	o.Apply(o.t, strings.NewReplacer("NAME", user, "NS", o.Namespace).Replace(reacher))
	return kubeConfigOf(config)
}

func kubeConfigOf(config *rest.Config) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: it
contexts: [{name: it, context: {cluster: it, user: it}}]
clusters: [{name: it, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: it, user: {token: %s}}]
`, config.Host, base64.StdEncoding.EncodeToString(config.CAData), config.BearerToken)
}

// secret creates or changes a Secret.
func (b *env) secret(name, key, value string) {
	b.t.Helper()
	secrets := b.Client.CoreV1().Secrets(b.Namespace)
	patch := fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":%q},"data":{%q:%q}}`, name, key, base64.StdEncoding.EncodeToString([]byte(value)))
	if _, err := secrets.Patch(b.t.Context(), name, types.ApplyPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "test", Force: new(true)}); err != nil {
		b.t.Fatal(err)
	}
}

// in makes a graph one of the cluster of a Secret.
func in(secret string) func(*v1alpha1.ResourceGraphSpec) {
	return func(spec *v1alpha1.ResourceGraphSpec) {
		spec.KubeConfig = &v1alpha1.KubeConfigReference{SecretRef: v1alpha1.SecretKeyReference{Name: secret}}
	}
}

func (b *env) configMapVersion(name string) string {
	b.t.Helper()
	cm, err := b.Client.CoreV1().ConfigMaps(b.Namespace).Get(b.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return cm.ResourceVersion
}

// The objects of a graph are in the cluster of its kubeconfig, and nothing else is.
func TestKubeConfig(t *testing.T) {
	b := newEnv(t)
	o := b.otherCluster()
	b.secret("other", "value", o.kubeConfig("reacher"))

	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "1", "a")), in("other")))
	b.ready("web")
	b.wantExists(false, "v1", "ConfigMap", "a", "b")
	o.wantExists(true, "v1", "ConfigMap", "a", "b")

	// An object of the same name in the cluster of the graphs is another one.
	b.apply(b.rendered("here", nodes(configMap("a", "a", "here"))))
	b.ready("here")
	if got := o.data(t.Context(), "a"); got != "1" {
		t.Errorf("the object in the other cluster has %q", got)
	}

	o.patch("v1", "ConfigMap", "a", "kubectl", `{"data":{"a":"2"}}`)
	o.eventually("drift is corrected", func(ctx ctx) bool { return o.data(ctx, "a") == "1" })
	b.patch("v1", "ConfigMap", "a", "kubectl", `{"data":{"a":"2"}}`)
	b.eventually("drift is corrected here", func(ctx ctx) bool { return b.data(ctx, "a") == "here" })

	b.apply(b.rendered("web", nodes(configMap("a", "a", "3")), in("other")))
	b.ready("web")
	o.eventually("pruned", func(ctx ctx) bool { return !o.exists(ctx, "v1", "ConfigMap", "b") })
	if got := o.data(t.Context(), "a"); got != "3" {
		t.Errorf("the object in the other cluster has %q", got)
	}

	// A restarted applier writes nothing, and goes on.
	before, version := b.ready("web"), o.configMapVersion("a")
	b.stop()
	b.start(b.Config)
	b.apply(b.rendered("second", nodes(configMap("c", "c", "1")), in("other")))
	b.ready("second")
	if after := b.ready("web"); after.ResourceVersion != before.ResourceVersion || o.configMapVersion("a") != version {
		t.Errorf("a restart changes the graph from version %s to %s, and its object from %s to %s",
			before.ResourceVersion, after.ResourceVersion, version, o.configMapVersion("a"))
	}
	o.patch("v1", "ConfigMap", "a", "kubectl", `{"data":{"a":"2"}}`)
	o.eventually("drift is corrected after a restart", func(ctx ctx) bool { return o.data(ctx, "a") == "3" })

	b.remove("web")
	b.gone("web")
	o.wantExists(false, "v1", "ConfigMap", "a")
	b.wantExists(true, "v1", "ConfigMap", "a")
}

// An object is handed over between graphs of one cluster, and not between clusters.
func TestKubeConfigHandOver(t *testing.T) {
	b := newEnv(t)
	o := b.otherCluster()
	b.secret("other", "value", o.kubeConfig("reacher"))
	a, other := configMap("a", "a", "1"), configMap("other", "other", "1")
	b.apply(b.rendered("from", nodes(a, other), in("other")))
	b.ready("from")
	uid := o.uid("a")

	b.apply(b.rendered("to", nodes(a), in("other")))
	b.until("to", condition("Ready", "False", "", ""))
	b.apply(b.rendered("from", nodes(other), in("other")))
	b.ready("to")
	b.ready("from")
	if got := o.uid("a"); got != uid {
		t.Error("the object was created again")
	}

	// The graph "here" lists the same object, but in another cluster.
	b.apply(b.rendered("here", nodes(a)))
	b.ready("here")
	b.remove("to")
	b.gone("to")
	o.wantExists(false, "v1", "ConfigMap", "a")
	b.wantExists(true, "v1", "ConfigMap", "a")
}

// An object in another cluster is also handed over between graphs of two replicas.
func TestKubeConfigBetweenShards(t *testing.T) {
	f := newFleet(t)
	o := f.otherCluster()
	f.secret("other", "value", o.kubeConfig("reacher"))
	f.handsOver(o.env, in("other"))
}

// A kubeconfig that can't be used is no reason to do anything anywhere.
func TestKubeConfigUnusable(t *testing.T) {
	b := newEnv(t)
	o := b.otherCluster()
	b.account("weak", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"}})
	good := o.kubeConfig("reacher")
	const token = "canary-of-a-token"

	b.apply(b.rendered("web", nodes(configMap("a", "a", "1")), in("other")))
	b.until("web", condition("Stalled", "True", "KubeConfigMissing", "Secret other, which spec.kubeConfig names, doesn't exist"))
	b.secret("other", "kubeconfig", good)
	b.until("web", condition("Stalled", "True", "KubeConfigMissing", "has no value of the keys value and value.yaml"))
	for _, test := range []struct{ was, is, message string }{
		{"{token: ", "{tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token, token: ", "tokenFile isn't allowed"},
		{"{token: ", "{exec: {apiVersion: client.authentication.k8s.io/v1, command: id, interactiveMode: Never}, token: ", "exec isn't allowed"},
		{"users:", token, "it can't be read as a kubeconfig"},
	} {
		b.secret("other", "value", strings.Replace(good, test.was, test.is, 1))
		rg := b.until("web", condition("Stalled", "True", "KubeConfigInvalid", test.message))
		if strings.Contains(fmt.Sprint(rg.Status.Conditions), token) {
			t.Errorf("the status shows the Secret: %v", rg.Status.Conditions)
		}
	}
	b.secret("other", "value", strings.ReplaceAll(good, "token: ", "token: "+token))
	b.until("web", condition("Stalled", "True", "ClusterUnavailable", "Unauthorized"))
	b.event("web", "ClusterUnavailable", "Unauthorized")
	if len(b.must("web").Finalizers) > 0 {
		t.Error("the graph has a finalizer although nothing was done for it")
	}
	b.apply(b.rendered("weak", nodes(configMap("a", "a", "1")), in("other"), func(spec *v1alpha1.ResourceGraphSpec) { spec.ServiceAccountName = "weak" }))
	b.until("weak", condition("Stalled", "True", "KubeConfigRefused", "service account weak may not get Secret other"))

	b.secret("other", "value", good)
	b.ready("web")
	b.wantExists(false, "v1", "ConfigMap", "a")
}

func (b *env) must(name string) *v1alpha1.ResourceGraph {
	b.t.Helper()
	rg, err := b.get(b.t.Context(), name)
	if err != nil {
		b.t.Fatal(err)
	}
	return rg
}

// New credentials are used as soon as the Secret has them, and nothing is written for it.
func TestKubeConfigRotation(t *testing.T) {
	b := newEnv(t)
	o := b.otherCluster()
	b.secret("other", "value", o.kubeConfig("first"))
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1")), in("other")))
	before, version := b.ready("web"), o.configMapVersion("a")

	o.proxy.Reset()
	b.secret("other", "value", o.kubeConfig("second"))
	lists := func(r faults.Request) bool { return r.Verb == "list" && r.Resource == "configmaps" }
	b.eventually("the other user lists", func(ctx) bool { return o.proxy.Count(lists) > 0 })
	if err := o.Client.RbacV1().ClusterRoleBindings().Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventually("the watch is open", func(ctx) bool {
		return o.proxy.Count(func(r faults.Request) bool { return r.Verb == "watch" && r.Resource == "configmaps" }) > 0
	})
	if after := b.ready("web"); after.ResourceVersion != before.ResourceVersion || o.configMapVersion("a") != version {
		t.Errorf("a rotation changes the graph from version %s to %s, and its object from %s to %s",
			before.ResourceVersion, after.ResourceVersion, version, o.configMapVersion("a"))
	}
	o.patch("v1", "ConfigMap", "a", "kubectl", `{"data":{"a":"2"}}`)
	o.eventually("drift is corrected", func(ctx ctx) bool { return o.data(ctx, "a") == "1" })
}

// The objects of a graph stay where they are known to be: neither another reference nor
// another kubeconfig leads to another cluster.
func TestKubeConfigOfAnotherCluster(t *testing.T) {
	b := newEnv(t)
	o := b.otherCluster()
	good := o.kubeConfig("reacher")
	b.secret("other", "value", good)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1")), in("other")))
	b.ready("web")
	for patch, message := range map[string]string{
		`{"spec":{"kubeConfig":null}}`:                                 "can't be added or removed",
		`{"spec":{"kubeConfig":{"secretRef":{"name":"another"}}}}`:     "can't be changed",
		`{"spec":{"kubeConfig":{"secretRef":{"key":"another.yaml"}}}}`: "can't be changed",
		`{"spec":{"kubeConfig":{"secretRef":{"name":"../another"}}}}`:  "spec.kubeConfig.secretRef.name in body should match",
		`{"spec":{"kubeConfig":{"secretRef":{"key":"a/b"}}}}`:          "spec.kubeConfig.secretRef.key in body should match",
	} {
		_, err := b.graphs().Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", patch, err)
		}
	}

	// This kubeconfig leads to the cluster of the graphs.
	here := b.ServiceAccount(t, b.Namespace, "here")
	b.clusterAdmin("here")
	b.secret("other", "value", kubeConfigOf(here))
	b.until("web", condition("Stalled", "True", "ClusterChanged", "leads to another cluster"))
	b.wantExists(false, "v1", "ConfigMap", "a")
	b.remove("web")
	b.until("web", func(rg *v1alpha1.ResourceGraph) error {
		if rg.DeletionTimestamp == nil {
			return errNotYet
		}
		return condition("Stalled", "True", "ClusterChanged", "")(rg)
	})
	o.wantExists(true, "v1", "ConfigMap", "a")
	b.secret("other", "value", good)
	b.gone("web")
	o.wantExists(false, "v1", "ConfigMap", "a")
}

// A graph whose cluster is gone for good can be deleted by suspending it.
func TestKubeConfigIsGone(t *testing.T) {
	b := newEnv(t)
	o := b.otherCluster()
	b.secret("other", "value", o.kubeConfig("reacher"))
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1")), in("other")))
	b.ready("web")
	if err := b.Client.CoreV1().Secrets(b.Namespace).Delete(t.Context(), "other", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.until("web", condition("Stalled", "True", "KubeConfigMissing", ""))
	b.remove("web")
	b.until("web", func(rg *v1alpha1.ResourceGraph) error {
		if rg.DeletionTimestamp == nil {
			return errNotYet
		}
		return nil
	})
	b.merge("web", `{"spec":{"suspend":true}}`)
	b.gone("web")
	o.wantExists(true, "v1", "ConfigMap", "a")
	b.AwaitEvent(t, b.patience, "ResourceGraph", "web", "Orphaned", "")
}

// Graphs of a cluster that doesn't answer leave room for those of others, also in the same
// namespace, and go on when it answers again.
func TestUnpluggedCluster(t *testing.T) {
	for name, unplug := range map[string]struct {
		out, in func(*faults.Proxy) error
		stays   bool // open watches stay open
	}{
		"refused": {out: (*faults.Proxy).Down, in: (*faults.Proxy).Up},
		"silent": {
			out:   func(p *faults.Proxy) error { p.Inject(faults.Rule{Faults: []faults.Fault{faults.Hang{}}}); return nil },
			in:    func(p *faults.Proxy) error { p.Inject(); return nil },
			stays: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newEnv(t)
			o, alive := b.otherCluster(), b.otherCluster()
			b.secret("other", "value", o.kubeConfig("reacher"))
			b.secret("alive", "value", alive.kubeConfig("reacher"))
			b.apply(b.rendered("first", nodes(configMap("a", "first", "1")), in("other")))
			b.ready("first")
			if err := unplug.out(o.proxy); err != nil {
				t.Fatal(err)
			}
			const many = 20
			for i := range many {
				var objects []string
				for j := range 4 {
					objects = append(objects, configMap(fmt.Sprintf("n%d", j), fmt.Sprintf("g%d-%d", i, j), "1"))
				}
				b.apply(b.rendered(fmt.Sprintf("g%d", i), nodes(objects...), in("other")))
			}
			b.patience = 20 * time.Second
			for i := range 5 {
				here, there := fmt.Sprintf("here%d", i), fmt.Sprintf("alive%d", i)
				began := time.Now()
				b.apply(b.rendered(here, nodes(configMap("a", here, "1"))))
				b.apply(b.rendered(there, nodes(configMap("a", there, "1")), in("alive")))
				b.ready(here)
				b.ready(there)
				t.Logf("ready after %v", time.Since(began))
			}
			b.patience = 3 * time.Minute
			if !unplug.stays { // a graph that was ready learns that its objects are unknown
				b.until("first", condition("Stalled", "True", "ClusterUnavailable", "cluster of Secret other can't be reached"))
				b.event("first", "ClusterUnavailable", "cluster of Secret other can't be reached")
			}
			if err := unplug.in(o.proxy); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			for i := range many {
				b.ready(fmt.Sprintf("g%d", i))
				t.Logf("g%d ready after %v", i, time.Since(began))
			}
			b.ready("first")
			o.patch("v1", "ConfigMap", "first", "kubectl", `{"data":{"a":"2"}}`)
			o.eventually("drift is corrected", func(ctx ctx) bool { return o.data(ctx, "first") == "1" })
		})
	}
}

// In the other cluster, everything is done as the account of the graph, whatever the user of
// the kubeconfig may do.
func TestKubeConfigImpersonates(t *testing.T) {
	b := newEnv(t)
	o := b.otherCluster()
	b.account("weak", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}})
	b.secret("other", "value", o.kubeConfig("boss"))
	o.clusterAdmin("boss")
	b.apply(b.rendered("web", nodes(`{id: a, resource: {apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}}`), in("other")))
	b.until("web", condition("Stalled", "True", "Forbidden", `User "system:serviceaccount:`+b.Namespace+`:pequod" cannot`))
	// An account that may not watch the Secret reads it.
	b.apply(b.rendered("weak", nodes(configMap("a", "a", "1")), in("other"), func(spec *v1alpha1.ResourceGraphSpec) { spec.ServiceAccountName = "weak" }))
	b.until("weak", condition("Stalled", "True", "Forbidden", `User "system:serviceaccount:`+b.Namespace+`:weak" cannot`))
	o.wantExists(false, "v1", "ServiceAccount", "a")
	o.wantExists(false, "v1", "ConfigMap", "a")
}

// The inventory of pequod apply is about this cluster.
func TestKubeConfigAfterApply(t *testing.T) {
	b := newEnv(t)
	o := b.otherCluster()
	b.secret("other", "value", o.kubeConfig("reacher"))
	local := b.rendered("web", nodes(configMap("a", "a", "1")))
	b.outside(local)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1")), in("other")))
	b.until("web", condition("Stalled", "True", "ClusterChanged", "pequod apply has applied the graph in this cluster"))
	b.remove("web")
	b.gone("web")
	b.wantExists(true, "v1", "ConfigMap", "a")
	o.wantExists(false, "v1", "ConfigMap", "a")
	if inv := b.inventory("web"); len(inv.Entries) != 1 {
		t.Errorf("the inventory is %+v", inv)
	}
}

// pequod-manager refuses the field.
func TestKubeConfigOfTheManager(t *testing.T) {
	b := idle(t, harness.Start(t))
	account := b.transformAccount()
	b.options = controller.Options{Namespace: b.Namespace, Operator: &controller.Operator{
		Account: func(*v1alpha1.ResourceGraph) (types.NamespacedName, error) { return account, nil },
	}}
	b.start(b.Config)
	b.apply(operated(b.rendered("web", nodes(configMap("a", "a", "1")), in("other"))))
	b.until("web", condition("Stalled", "True", "KubeConfigRefused", "only pequod-applier does"))
	b.wantExists(false, "v1", "ConfigMap", "a")
}
