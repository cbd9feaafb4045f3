package configmap

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/test/harness"
)

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
