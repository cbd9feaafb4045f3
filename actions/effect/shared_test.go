package effect

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// administrator acts as the administrator in place of all service accounts.
type administrator struct{ client dynamic.Interface }

// Dynamic implements [Accounts].
func (a administrator) Dynamic(string, string) (dynamic.Interface, error) { return a.client, nil }

// TestSharedObject has several Receivers, and effects of different kinds, change one object. No
// effect fails because of the annotation that all of them write, a Receiver keeps its fields when
// another Receiver applies others, and a field of another field manager is a conflict.
func TestSharedObject(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	e := &Effects{
		Accounts: administrator{c.Dynamic}, Now: time.Now,
		Mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Client.Discovery())),
		Kinds:  Kinds{[]schema.GroupKind{{Kind: "ConfigMap"}}},
	}
	apply := v1alpha1.ReceiverEffect{Apply: &v1alpha1.ReceiverApply{
		Object: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}, "data": body}`,
	}}
	target := v1alpha1.ReceiverTarget{Name: "shared"}
	reconcile := v1alpha1.ReceiverEffect{Reconcile: &v1alpha1.ReceiverReconcile{APIVersion: "v1", Kind: "ConfigMap", ReceiverTarget: target}}
	send := func(receiver string, do v1alpha1.ReceiverEffect, id, body string) (Result, error) {
		r := &v1alpha1.Receiver{}
		r.Namespace, r.Name, r.UID = c.Namespace, receiver, types.UID(receiver)
		r.Spec.Do = []v1alpha1.ReceiverEffect{do}
		return e.Perform(t.Context(), r, source.New(id, nil, []byte(body)))
	}
	for i, step := range []struct {
		receiver string
		do       v1alpha1.ReceiverEffect
		body     string
		want     string // the data that follows
		err      string
	}{
		{"first", apply, `{"a": "1", "x": "1"}`, "map[a:1 x:1]", ""},
		{"first", reconcile, `{}`, "map[a:1 x:1]", ""},
		{"first", apply, `{"a": "2"}`, "map[a:2]", ""},
		{"second", apply, `{"b": "1"}`, "map[a:2 b:1]", ""},
		{"second", reconcile, `{}`, "map[a:2 b:1]", ""},
		{"first", apply, `{"a": "3"}`, "map[a:3 b:1]", ""},
		{"third", apply, `{"a": "4"}`, "map[a:3 b:1]", ".data.a"},
		{"third", apply, `{"c": "1"}`, "map[a:3 b:1 c:1]", ""},
	} {
		id := fmt.Sprint("message-", i)
		result, err := send(step.receiver, step.do, id, step.body)
		if step.err == "" && (err != nil || result.Changed != 1) {
			t.Errorf("step %d: %d changes: %v", i, result.Changed, err)
		}
		if step.err != "" && (err == nil || source.ClassOf(err) != source.Failed || !strings.Contains(err.Error(), step.err)) {
			t.Errorf("step %d: %v", i, err)
		}
		if result, err = send(step.receiver, step.do, id, step.body); step.err == "" && (err != nil || result.Repeated != 1) {
			t.Errorf("step %d again: %d repetitions: %v", i, result.Repeated, err)
		}
		stored, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Get(t.Context(), "shared", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(stored.Data); got != step.want {
			t.Errorf("step %d: data %s, want %s", i, got, step.want)
		}
	}
}

// TestManagerOf checks that each Receiver has a field manager of its own, whose name is not too
// long for the API server.
func TestManagerOf(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 250)
	names := map[string]string{}
	for _, name := range []string{"a", "b", long, long + "b", strings.Repeat("a", maxManager), strings.Repeat("a", maxManager-len(managerPrefix))} {
		manager := managerOf(name)
		if len(manager) > maxManager || names[manager] != "" {
			t.Errorf("%s: the manager is %s, as of %s", name, manager, names[manager])
		}
		names[manager] = name
		attempt := rand.Text()[:attemptSize]
		creator := creatorOf(name, attempt)
		if len(creator) > maxManager || !strings.HasSuffix(creator, "/"+attempt) {
			t.Errorf("%s: the creator is %s", name, creator)
		}
		for _, by := range []string{manager, creator} {
			for _, other := range []string{name, "other"} {
				entry := metav1.ManagedFieldsEntry{Manager: by, Operation: metav1.ManagedFieldsOperationApply}
				if got := applied(entry, other); got != (other == name) {
					t.Errorf("%s has applied fields of %s: %t", by, other, got)
				}
			}
		}
	}
	if got := managerOf("infra-runs"); got != "pequod-receiver/infra-runs" {
		t.Errorf("manager %s", got)
	}
}
