package configmap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/test/harness"
)

const patience = 60 * time.Second

// connect is a store on the cluster, through a client that knows no types.
func connect(t *testing.T, config *rest.Config) *Store {
	t.Helper()
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/api", &schema.GroupVersion{Version: "v1"}
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return NewStore(client)
}

// holding is an inventory of a graph "web" with count entries.
func holding(namespace string, count int) *inventory.Inventory {
	inv := &inventory.Inventory{Owner: inventory.Owner{Namespace: namespace, Name: "web"}, Revision: "sha256:1"}
	for i := range count {
		inv.Entries = append(inv.Entries, entry(i))
	}
	inventory.Sort(inv.Entries)
	return inv
}

func entry(i int) inventory.Entry {
	return inventory.Entry{
		Key:     inventory.Key{Group: "apps", Kind: "Deployment", Namespace: "default", Name: fmt.Sprintf("web-%04d", i)},
		Version: "v1", UID: types.UID(fmt.Sprintf("9f1c3a52-7c0e-4b6e-8b1d-%012d", i)),
		Node: fmt.Sprintf("deployment-%d", i), Wave: i % 3,
		Desired: inventory.Checksum([]byte{byte(i)}), Live: inventory.Checksum([]byte{byte(i), 1}),
	}
}

// same fails unless two inventories say the same, wherever they are stored.
func same(t *testing.T, want, got *inventory.Inventory) {
	t.Helper()
	ignore := cmpopts.IgnoreFields(inventory.Inventory{}, "Stored")
	if diff := cmp.Diff(want, got, ignore, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
}

func load(t *testing.T, s *Store, owner inventory.Owner) *inventory.Inventory {
	t.Helper()
	inv, err := s.Load(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

func save(t *testing.T, s *Store, inv *inventory.Inventory) {
	t.Helper()
	if err := s.Save(t.Context(), inv); err != nil {
		t.Fatal(err)
	}
}

// stored are the ConfigMaps of inventories in the test's namespace.
func stored(t *testing.T, c *harness.Cluster) []corev1.ConfigMap {
	t.Helper()
	list, err := c.Client.CoreV1().ConfigMaps(c.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "pequod.io/inventory"})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func isConflict(err error) bool {
	var conflict *ConflictError
	return errors.As(err, &conflict)
}

func TestStore(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	s := connect(t, proxy.Config(c.ServiceAccount(t, c.Namespace, "admin")))
	allow(t, c, "admin", "get", "list", "create", "patch", "delete")
	owner := inventory.Owner{Namespace: c.Namespace, Name: "web"}

	absent := load(t, s, owner)
	same(t, &inventory.Inventory{Owner: owner}, absent)
	if err := s.Remove(t.Context(), absent); err != nil {
		t.Error(err)
	}

	inv := holding(c.Namespace, 3)
	save(t, s, inv)
	same(t, inv, load(t, s, owner))
	object := stored(t, c)[0]
	wantLabels := map[string]string{
		"pequod.io/inventory": "true", "pequod.io/graph": "web", "pequod.io/graph-namespace": c.Namespace,
		"app.kubernetes.io/managed-by": "pequod",
	}
	if diff := cmp.Diff(wantLabels, object.Labels); diff != "" || object.Name != "pequod-inventory-web" {
		t.Errorf("%s: labels (-want +got):\n%s", object.Name, diff)
	}
	if _, owned := inventory.OwnerOf(object.Labels); owned {
		t.Error("the inventory counts as an object of the graph")
	}
	for _, manager := range object.ManagedFields {
		if manager.Manager != "pequod" {
			t.Errorf("field manager %s", manager.Manager)
		}
	}

	proxy.Reset()
	save(t, s, inv)
	again := load(t, s, owner)
	save(t, s, again)
	if requests := proxy.Requests(); len(requests) != 1 || requests[0].Verb != "list" {
		t.Errorf("saving twice what is stored, and loading it: %v", requests)
	}

	proxy.Reset()
	inv.Complete, inv.Entries = true, inv.Entries[1:]
	save(t, s, inv)
	if requests := proxy.Requests(); len(requests) != 1 || requests[0].Verb != "patch" {
		t.Errorf("a change: %v", requests)
	}
	same(t, inv, load(t, s, owner))

	if err := s.Remove(t.Context(), inv); err != nil {
		t.Error(err)
	}
	same(t, &inventory.Inventory{Owner: owner}, load(t, s, owner))
	save(t, s, inv)
	same(t, inv, load(t, s, owner))
}

// allow lets a service account of the test's namespace do that with ConfigMaps.
func allow(t *testing.T, c *harness.Cluster, account string, verbs ...string) {
	t.Helper()
	list, err := json.Marshal(verbs)
	if err != nil {
		t.Fatal(err)
	}
	c.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: `+account+`}
rules: [{apiGroups: [""], resources: [configmaps], verbs: `+string(list)+`}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: `+account+`}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: `+account+`}
subjects: [{kind: ServiceAccount, name: `+account+`, namespace: `+c.Namespace+`}]
`)
	// The authorizer learns of a role a moment later.
	s := connect(t, c.ServiceAccount(t, c.Namespace, account))
	harness.Eventually(t, patience, func(ctx context.Context) error {
		_, err := s.List(ctx, c.Namespace)
		return err
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	s := connect(t, c.Config)
	s.limit = 2000
	var want []*inventory.Inventory
	for i, name := range []string{"a", "b.example", strings.Repeat("c", 200)} {
		inv := holding(c.Namespace, 20*i)
		inv.Owner.Name = name
		save(t, s, inv)
		same(t, inv, load(t, s, inv.Owner))
		want = append(want, inv)
	}
	got, err := s.List(t.Context(), c.Namespace)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d inventories, error %v", len(got), err)
	}
	for i := range want {
		same(t, want[i], got[i])
	}

	index, err := s.Index(t.Context(), c.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, inv := range want {
		if !index.MayHave(inv.Owner) {
			t.Errorf("the index lacks %s", inv.Owner)
		}
	}
	if index.MayHave(inventory.Owner{Namespace: c.Namespace, Name: "d"}) {
		t.Error("the index has a graph without an inventory")
	}

	// One that can't be read doesn't hide the others.
	edit(t, c, "pequod-inventory-a", `{"data": {"inventory": "{}"}}`)
	got, err = s.List(t.Context(), c.Namespace)
	wantErr := "ConfigMap " + c.Namespace + `/pequod-inventory-a: key "inventory": not an inventory: "format" is missing`
	if len(got) != 2 || err == nil || err.Error() != wantErr {
		t.Errorf("%d inventories, error %v", len(got), err)
	}
}

func TestForbidden(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	owner := inventory.Owner{Namespace: c.Namespace, Name: "web"}
	user := "system:serviceaccount:" + c.Namespace + ":"
	cannot := func(account, verb, name string) string {
		return fmt.Sprintf(`configmaps %sis forbidden: User "%s%s" cannot %s resource "configmaps" in API group "" in the namespace "%s"`,
			name, user, account, verb, c.Namespace)
	}
	nobody := connect(t, c.ServiceAccount(t, c.Namespace, "nobody"))
	_, err := nobody.Load(t.Context(), owner)
	if want := "inventory of " + owner.String() + ": reading its ConfigMap: " + cannot("nobody", "list", ""); err == nil || err.Error() != want || !apierrors.IsForbidden(err) {
		t.Errorf("error %v\nwant %s", err, want)
	}
	_, err = nobody.List(t.Context(), c.Namespace)
	if want := "inventories of namespace " + c.Namespace + ": reading their ConfigMaps: " + cannot("nobody", "list", ""); err == nil || err.Error() != want {
		t.Errorf("error %v\nwant %s", err, want)
	}
	allow(t, c, "reader", "get", "list")
	reader := connect(t, c.ServiceAccount(t, c.Namespace, "reader"))
	inv := load(t, reader, owner)
	inv.Revision = "sha256:1"
	err = reader.Save(t.Context(), inv)
	if want := "inventory of " + owner.String() + ": writing its ConfigMap: " + cannot("reader", "create", ""); err == nil || err.Error() != want {
		t.Errorf("error %v\nwant %s", err, want)
	}
	save(t, connect(t, c.Config), holding(c.Namespace, 1))
	inv = load(t, reader, owner)
	err = reader.Remove(t.Context(), inv)
	if want := "inventory of " + owner.String() + ": removing its ConfigMap: " + cannot("reader", "delete", `"pequod-inventory-web" `); err == nil || err.Error() != want {
		t.Errorf("error %v\nwant %s", err, want)
	}

	_, err = connect(t, c.Config).Load(t.Context(), inventory.Owner{Namespace: c.Unique("missing"), Name: "web"})
	if err != nil {
		t.Errorf("namespace that isn't there: %v", err)
	}
	gone := holding(c.Unique("missing"), 1)
	if err := connect(t, c.Config).Save(t.Context(), gone); !apierrors.IsNotFound(err) || isConflict(err) {
		t.Errorf("namespace that isn't there: saving: %v", err)
	}
}
