package objectdiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// FuzzCompare checks properties of any two sides, generated from a seed: an object does
// not differ from itself, one direction adds what the other removes, and nothing that a
// format prints has a secret value.
func FuzzCompare(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		before, after := side(t, r), side(t, r)
		if d := Compare(before, before); len(d.Objects) > 0 {
			t.Errorf("a side differs from itself: %v", d.Plan())
		}
		there, back := Compare(before, after).Plan(), Compare(after, before).Plan()
		if there.Add != back.Remove || there.Remove != back.Add || there.Change != back.Change {
			t.Errorf("there: %v; and back: %v", there, back)
		}
		d := Compare(before, after)
		for i := range d.Objects {
			if o := &d.Objects[i]; o.Action == Modify && len(o.Lines()) == 0 {
				t.Errorf("%s: changed, but has no lines", o.Key)
			}
		}
		var out bytes.Buffer
		if err := json.NewEncoder(&out).Encode(d.Report()); err != nil {
			t.Fatal(err)
		}
		for i := range d.Objects {
			o := &d.Objects[i]
			fmt.Fprintln(&out, o.Lines(), o.Warnings, o.Old().YAML(), o.New().YAML())
			for _, c := range o.Changes {
				before, after := c.Inline()
				fmt.Fprintln(&out, c.Old(), c.New(), before, after)
			}
		}
		if i := strings.Index(out.String(), "s3cr3t"); i >= 0 {
			t.Fatalf("a secret value is printed: …%s", out.String()[max(0, i-200):min(out.Len(), i+20)])
		}
	})
}

// side generates some objects. The values of Secrets contain s3cr3t.
func side(t *testing.T, r *rand.Rand) []Object {
	var all []Object
	for _, kind := range []string{"Secret", "ConfigMap", "StatefulSet", "Service", "PersistentVolumeClaim"} {
		for _, name := range []string{"a", "b"} {
			if r.IntN(4) == 0 {
				continue
			}
			m := map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{
				"name": name, "namespace": []string{"x", "y"}[r.IntN(2)], "annotations": tree(r, 2, ""),
			}, "spec": tree(r, 4, "")}
			switch kind {
			case "StatefulSet":
				m["apiVersion"] = "apps/v1"
			case "Secret":
				m["data"], m["stringData"] = tree(r, 3, "s3cr3t"), tree(r, 3, "s3cr3t")
				m["metadata"].(map[string]any)["annotations"] = map[string]any{
					"kubectl.kubernetes.io/last-applied-configuration": fmt.Sprintf(`{"data": {"k": "s3cr3t%d"}}`, r.IntN(3)),
				}
			}
			objects, err := FromManifest(m, "file")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, objects...)
		}
	}
	return all
}

func tree(r *rand.Rand, depth int, prefix string) any {
	if depth == 0 || r.IntN(5) == 0 {
		return scalar(r, prefix)
	}
	if r.IntN(3) == 0 {
		var list []any
		for range r.IntN(5) {
			list = append(list, tree(r, depth-1, prefix))
		}
		return list
	}
	m := map[string]any{}
	for range r.IntN(5) {
		keys := []string{"name", "a.b/c", "ports", "replicas", "selector", "containers", "volumeClaimTemplates", "`", "|<b>"}
		m[keys[r.IntN(len(keys))]] = tree(r, depth-1, prefix)
	}
	return m
}

func scalar(r *rand.Rand, prefix string) any {
	n := r.IntN(4)
	if prefix != "" {
		return fmt.Sprintf("%s%d\nline", prefix, n)
	}
	return []any{int64(n), float64(n) / 2, n > 1, "", "a\nb\n", strings.Repeat("`", n), fmt.Sprintf("text %d", n), "\x1b[31m"}[r.IntN(8)]
}
