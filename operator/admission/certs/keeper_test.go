package certs

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/test/harness"
)

// role are the rights of a keeper, by name, as config/webhook has them.
const role = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: keeper}, rules: [
  {apiGroups: [""], resources: [secrets], verbs: [create]},
  {apiGroups: [""], resources: [secrets], resourceNames: [cert], verbs: [get, list, watch, update]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: keeper},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: keeper}, subjects: [{kind: ServiceAccount, name: keeper, namespace: NS}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: CONFIG}, rules: [
  {apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations], resourceNames: [CONFIG], verbs: [get, list, watch, patch]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: CONFIG},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: CONFIG}, subjects: [{kind: ServiceAccount, name: keeper, namespace: NS}]}
`

// configuration is a configuration of another tool with two webhooks, for objects that
// nothing creates.
const configuration = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: CONFIG}
webhooks:
- name: a.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: SERVICE, namespace: NS, path: /a}}
  rules: [{apiGroups: [keeper.example.com], apiVersions: [v1], operations: [CREATE], resources: [nothings]}]
  matchConditions: [{name: theirs, expression: "true"}]
- name: b.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "https://127.0.0.1:9/b"}
  rules: [{apiGroups: [keeper.example.com], apiVersions: [v1], operations: [CREATE], resources: [nothings]}]
`

// fixture is a cluster with keepers.
type fixture struct {
	*harness.Cluster
	name    string // of the configuration
	account *rest.Config
	options Options
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	c := harness.Start(t)
	f := &fixture{Cluster: c, name: c.Unique("keeper")}
	f.account = c.ServiceAccount(t, c.Namespace, "keeper")
	f.apply(t, role)
	f.options = Options{
		Secret: types.NamespacedName{Namespace: c.Namespace, Name: "cert"}, Configuration: f.name, Service: "hook",
		Conditions: []admissionregistrationv1.MatchCondition{{Name: "ours", Expression: `request.namespace != "x"`}},
		Log:        testr.NewWithOptions(t, testr.Options{}), schedule: schedule{lifetime, 0},
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = c.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(ctx, f.name, metav1.DeleteOptions{})
		_ = c.Client.RbacV1().ClusterRoles().Delete(ctx, f.name, metav1.DeleteOptions{})
		_ = c.Client.RbacV1().ClusterRoleBindings().Delete(ctx, f.name, metav1.DeleteOptions{})
	})
	return f
}

func (f *fixture) apply(t *testing.T, text string) {
	t.Helper()
	for from, to := range map[string]string{"CONFIG": f.name, "SERVICE": "hook", "NS": f.Namespace} {
		text = string(bytes.ReplaceAll([]byte(text), []byte(from), []byte(to)))
	}
	f.Apply(t, text)
}

// start runs a keeper until the test ends.
func (f *fixture) start(t *testing.T) *Keeper {
	t.Helper()
	client, err := rest.HTTPClientFor(f.account)
	if err != nil {
		t.Fatal(err)
	}
	k, err := NewKeeper(f.account, client, f.options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return k
}

// verify returns an error unless clients by the configuration trust what a keeper serves.
func (f *fixture) verify(ctx context.Context, k *Keeper, hosts ...string) error {
	c, err := k.Certificate(nil)
	if err != nil {
		return err
	}
	configuration, err := f.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, f.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, w := range configuration.Webhooks {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(w.ClientConfig.CABundle)
		for _, host := range hosts {
			if _, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
				return fmt.Errorf("%s: %w", w.Name, err)
			}
		}
	}
	return nil
}

func (f *fixture) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	s, err := f.Client.CoreV1().Secrets(f.Namespace).Get(t.Context(), "cert", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// eventually waits until all keepers serve what the configuration trusts, and that is the
// same.
func (f *fixture) eventually(t *testing.T, all []*Keeper, hosts ...string) {
	t.Helper()
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		for _, k := range all {
			if err := f.verify(ctx, k, hosts...); err != nil {
				return err
			}
			if !bytes.Equal(all[0].current.Load().Certificate[0], k.current.Load().Certificate[0]) {
				return errors.New("the replicas serve different certificates")
			}
		}
		return nil
	})
}

// TestKeepers runs three replicas, with no more rights than they are installed with: they
// serve one certificate, before and after the configuration appears, rotate it without a
// moment in which it isn't trusted, and repair what others break.
func TestKeepers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	all := []*Keeper{f.start(t), f.start(t), f.start(t)}
	harness.Eventually(t, time.Minute, func(context.Context) error {
		return errors.Join(all[0].Ready(nil), all[1].Ready(nil), all[2].Ready(nil))
	})
	service := "hook." + f.Namespace + ".svc"
	if c, _ := all[0].Certificate(nil); !covers(c.Leaf, []string{service}) || covers(c.Leaf, []string{"127.0.0.1"}) {
		t.Errorf("the certificate is for %v, %v", c.Leaf.DNSNames, c.Leaf.IPAddresses)
	}

	f.apply(t, configuration)
	f.eventually(t, all, service, "127.0.0.1")
	live, err := f.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), f.name, metav1.GetOptions{})
	if err != nil || len(live.Webhooks) != 2 || len(live.Webhooks[0].MatchConditions) != 2 || *live.Webhooks[0].ClientConfig.Service.Path != "/a" {
		t.Errorf("%+v, %v", live.Webhooks, err)
	}

	// The certificate is as old as one that has to be replaced.
	s := f.secret(t)
	old, err := newPair([]string{service, "127.0.0.1"}, time.Now().Add(-lifetime*3/4), lifetime)
	if err != nil {
		t.Fatal(err)
	}
	s.Data = contents(old, nil, time.Now(), s.Data[keyBundle])
	if _, err := f.Client.CoreV1().Secrets(f.Namespace).Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	oldSeen := false
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		data := f.secret(t).Data
		if bytes.Equal(data[keyCert], old.cert) {
			oldSeen = true
			return errors.New("the old certificate is served")
		}
		for _, k := range all {
			if !bytes.Equal(k.current.Load().Leaf.Raw, mustLeaf(t, data)) {
				return errors.New("a replica serves another certificate")
			}
		}
		return nil
	})
	f.eventually(t, all, service, "127.0.0.1")
	if data := f.secret(t).Data; !bytes.Contains(data[keyBundle], old.authority) {
		t.Errorf("the bundle lacks the authority before the rotation (seen: %t)", oldSeen)
	}

	// Others take the authorities away, and delete the Secret.
	f.apply(t, configuration)
	if _, err := f.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(t.Context(), f.name, types.JSONPatchType,
		[]byte(`[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	f.eventually(t, all, service, "127.0.0.1")
	if err := f.Client.CoreV1().Secrets(f.Namespace).Delete(t.Context(), "cert", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		_, err := f.Client.CoreV1().Secrets(f.Namespace).Get(ctx, "cert", metav1.GetOptions{})
		return err
	})
	f.eventually(t, all, service, "127.0.0.1")
}

func mustLeaf(t *testing.T, data map[string][]byte) []byte {
	t.Helper()
	c, err := served(data).certificate()
	if err != nil {
		t.Fatal(err)
	}
	return c.Leaf.Raw
}

// TestConditionsOnly holds that a keeper whose certificate is kept by another program only
// adds conditions.
func TestConditionsOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Secret.Name = ""
	f.apply(t, configuration)
	k := f.start(t)
	if err := k.Ready(nil); err != nil {
		t.Error(err)
	}
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		live, err := f.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, f.name, metav1.GetOptions{})
		switch {
		case err != nil:
			return err
		case len(live.Webhooks[1].MatchConditions) != 1:
			return errors.New("no condition")
		case live.Webhooks[0].ClientConfig.CABundle != nil:
			t.Error("authorities")
		}
		return nil
	})
	if _, err := f.Client.CoreV1().Secrets(f.Namespace).Get(t.Context(), "cert", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Error("there is a Secret")
	}
}

// TestNoRights holds that a keeper without rights is not ready, and does not end.
func TestNoRights(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.account = f.ServiceAccount(t, f.Namespace, "other")
	k := f.start(t)
	if _, err := k.step(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("%v", err)
	}
	if k.Ready(nil) == nil {
		t.Error("ready")
	}
}
