package configmap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	"github.com/pequod-io/pequod/test/faults"
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

// An inventory grows over one ConfigMap and shrinks again; each time its parts
// are those that it needs, and what didn't change is not written again.
func TestParts(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	s := connect(t, proxy.Config(c.ServiceAccount(t, c.Namespace, "admin")))
	allow(t, c, "admin", "get", "list", "create", "patch", "delete")
	s.limit = 2000
	inv := holding(c.Namespace, 0)
	for _, count := range []int{50, 51, 100, 20, 2, 40} {
		stays := inv.Stored
		inv = holding(c.Namespace, count)
		inv.Stored = stays
		proxy.Reset()
		save(t, s, inv)
		same(t, inv, load(t, s, inv.Owner))

		text, err := inventory.Encode(inv)
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		if len(text) > s.limit {
			want = 1 + len(inventory.Split(text, s.limit))
		}
		if got := len(stored(t, c)); got != want {
			t.Errorf("%d entries: %d ConfigMaps, want %d", count, got, want)
		}
		made := proxy.Count(func(r faults.Request) bool { return r.Verb == "create" })
		if count == 51 && made >= want-1 {
			t.Errorf("one entry more: %d of %d parts made anew", made, want-1)
		}
		for _, object := range stored(t, c) {
			if object.Labels["pequod.io/inventory"] != isPart {
				continue
			}
			if !strings.HasPrefix(object.Name, partPrefix) || object.Immutable == nil || !*object.Immutable || len(object.Data[keyPart]) > s.limit {
				t.Errorf("part: %+v", object)
			}
		}
	}
	inv = load(t, s, inv.Owner)
	if err := s.Remove(t.Context(), inv); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(context.Context) error {
		if left := stored(t, c); len(left) > 0 {
			return fmt.Errorf("%d ConfigMaps are left", len(left))
		}
		return nil
	})
}

func TestManyEntries(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	s := connect(t, c.Config)
	inv := holding(c.Namespace, 5000)
	save(t, s, inv)
	got := load(t, s, inv.Owner)
	same(t, inv, got)
	if objects := stored(t, c); len(objects) != 3 {
		t.Errorf("%d ConfigMaps", len(objects))
	}
	got.Complete = true
	save(t, s, got)
	same(t, got, load(t, s, inv.Owner))
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

func edit(t *testing.T, c *harness.Cluster, name, patch string) {
	t.Helper()
	_, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// What was edited by hand is never read as something else, and not written over.
func TestEdited(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	s := connect(t, c.Config)
	maps := c.Client.CoreV1().ConfigMaps(c.Namespace)
	head := "pequod-inventory-web"
	where := "ConfigMap " + c.Namespace + "/" + head + ": "
	for _, test := range []struct{ name, patch, want string }{
		{"emptied", `{"data": {"inventory": ""}}`, `key "inventory": not an inventory: line 1: unexpected end of JSON input`},
		{"no key", `{"data": {"inventory": null}}`, `key "inventory" is missing`},
		{"no data", `{"data": null}`, `key "inventory" is missing`},
		{"both keys", `{"data": {"parts": "{}"}}`, `it has both keys "inventory" and "parts"`},
		{"newer", `{"data": {"inventory": "{\"format\":2}"}}`, `key "inventory": format 2: written by a newer pequod, this one reads up to format 1`},
		{"newer parts", `{"data": {"inventory": null, "parts": "{\"format\":2}"}}`, `key "parts": format 2: written by a newer pequod, this one reads up to format 1`},
		{"no parts", `{"data": {"inventory": null, "parts": "{}"}}`, `key "parts": "format" or "parts" is missing`},
		{"parts are no JSON", `{"data": {"inventory": null, "parts": "x"}}`, `key "parts": invalid character 'x' looking for beginning of value`},
		{"part that isn't there", `{"data": {"inventory": null, "parts": "{\"format\":1,\"parts\":[{\"name\":\"x\"}]}"}}`, `key "parts": ConfigMap x: it is missing, or its labels or owner were changed`},
		{"another graph's", `{"data": {"inventory": "{\"format\":1,\"namespace\":\"a\",\"graph\":\"b\",\"objects\":[]}"}}`, `it is the inventory of a/b, not of ` + c.Namespace + `/web`},
	} {
		inv := holding(c.Namespace, 2)
		save(t, s, inv)
		edit(t, c, head, test.patch)
		if _, err := s.Load(t.Context(), inv.Owner); err == nil || err.Error() != where+test.want {
			t.Errorf("%s: error %v, want %s", test.name, err, test.want)
		}
		if test.name != "another graph's" {
			if got, err := s.List(t.Context(), c.Namespace); err == nil || len(got) > 0 {
				t.Errorf("%s: listed %v", test.name, got)
			}
		}
		inv.Complete = true
		if err := s.Save(t.Context(), inv); !isConflict(err) {
			t.Errorf("%s: saving: %v", test.name, err)
		}
		if err := s.Remove(t.Context(), inv); !isConflict(err) {
			t.Errorf("%s: removing: %v", test.name, err)
		}
		if err := maps.Delete(t.Context(), head, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("label removed", func(t *testing.T) {
		inv := holding(c.Namespace, 2)
		save(t, s, inv)
		edit(t, c, head, `{"metadata": {"labels": {"pequod.io/inventory": null}}}`)
		lost := load(t, s, inv.Owner)
		lost.Revision = "sha256:2"
		want := where + "it is in the place of an inventory, and has no label pequod.io/inventory=true"
		if err := s.Save(t.Context(), lost); err == nil || err.Error() != want {
			t.Errorf("saving: %v", err)
		}
		edit(t, c, head, `{"metadata": {"labels": {"pequod.io/inventory": "true"}}}`)
		same(t, inv, load(t, s, inv.Owner))
	})
	t.Run("copied", func(t *testing.T) {
		copied, err := maps.Get(t.Context(), head, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		copied.ObjectMeta = metav1.ObjectMeta{Name: "backup", Labels: copied.Labels}
		if _, err := maps.Create(t.Context(), copied, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		load(t, s, inventory.Owner{Namespace: c.Namespace, Name: "web"})
		got, err := s.List(t.Context(), c.Namespace)
		want := "ConfigMap " + c.Namespace + "/backup: it is a copy of the inventory of " + c.Namespace + "/web: remove it, or its label pequod.io/inventory"
		if len(got) != 1 || err == nil || err.Error() != want {
			t.Errorf("listed %v, error %v", got, err)
		}
	})
	t.Run("part removed and replaced", func(t *testing.T) {
		s := connect(t, c.Config)
		s.limit = 500
		inv := load(t, s, inventory.Owner{Namespace: c.Namespace, Name: "web"})
		inv.Entries = holding(c.Namespace, 10).Entries
		save(t, s, inv)
		objects := stored(t, c)
		at := slices.IndexFunc(objects, func(o corev1.ConfigMap) bool { return o.Labels["pequod.io/inventory"] == isPart })
		part := objects[at]
		if err := maps.Delete(t.Context(), part.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		want := where + `key "parts": ConfigMap ` + part.Name + ": it is missing, or its labels or owner were changed"
		if _, err := s.Load(t.Context(), inv.Owner); err == nil || err.Error() != want {
			t.Errorf("removed: error %v", err)
		}
		part.UID, part.ResourceVersion, part.Data[keyPart] = "", "", "another"
		if _, err := maps.Create(t.Context(), &part, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		want = where + `key "parts": ConfigMap ` + part.Name + `: key "part": it was changed`
		if _, err := s.Load(t.Context(), inv.Owner); err == nil || err.Error() != want {
			t.Errorf("replaced: error %v", err)
		}
	})
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
