package worker_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/operator/worker"
)

// shops is a file of instances of the module versioned, and of other objects.
const shops = `# all shops
apiVersion: pequod.io/v1
kind: Shop
metadata: {name: web, namespace: shop}
spec: {image: nginx}
--- # without a namespace
apiVersion: pequod.io/v1
kind: Shop
metadata: {name: typo}
spec:
  imag: nginx
  replicas: yes
---
apiVersion: v1
kind: List
items:
- apiVersion: pequod.io/v1
  kind: Shop
  metadata: {name: seven}
  spec: {image: nginx, replicas: 7}
- apiVersion: apps/v1
  kind: Deployment
- {kind: Shop}
- apiVersion: pequod.io/v1alpha1
  kind: Shop
  metadata: {name: Old}
  spec: {container: nginx}
---
<<: {apiVersion: pequod.io/v1, kind: Other}
metadata: {name: merged, labels: {kind: &kind Shop}}
kind: *kind
spec: {image: nginx}
---
apiVersion: pequod.io/v1
kind: Shop
kind: Shop
metadata: {name: twice}
spec: {image: nginx}
`

// TestDocuments renders a file with several instances. Problems have the positions that
// pequod render prints.
func TestDocuments(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: time.Minute})
	key, _ := load(t, pool, "shop", inlined(versioned))
	var got []string
	for doc, problems := range worker.Documents("apps/shops.yaml", []byte(shops)) {
		switch {
		case problems != nil:
			got = append(got, "unread: "+problems.Error())
			continue
		case doc.Kind != schema.GroupKind{Group: "pequod.io", Kind: "Shop"}:
			got = append(got, fmt.Sprintf("%s: %s", doc.Position, doc.Kind))
			continue
		}
		r, err := pool.RenderDocument(t.Context(), key, doc, "default")
		if err != nil {
			t.Fatal(err)
		}
		if r.Graph != nil {
			got = append(got, fmt.Sprintf("%s: graph of %s/%s", doc.Position, r.Graph.Namespace, r.Graph.Spec.SourceRef.Name))
		}
		for _, p := range r.Problems {
			got = append(got, p.String())
		}
	}
	want := []string{
		"apps/shops.yaml:2:1: graph of shop/web",
		`apps/shops.yaml:11:3: spec.imag: unknown field; did you mean "image"?`,
		`apps/shops.yaml:12:13: spec.replicas: yes is a string to some YAML readers and a boolean to kubectl; write "yes" or true`,
		"apps/shops.yaml:20:34: spec.replicas: seven is unlucky (inline[main.cue]:28:17)",
		"apps/shops.yaml:21:3: Deployment.apps",
		"unread: apps/shops.yaml:23:3: apiVersion: missing",
		`apps/shops.yaml:26:20: metadata.name: "Old": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, ` +
			"'-' or '.', and must start and end with an alphanumeric character",
		"apps/shops.yaml:29:1: graph of default/merged",
		"apps/shops.yaml:36:1: kind: key given twice, first at line 35",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// TestDocumentsRefused reads files that end with a mistake.
func TestDocumentsRefused(t *testing.T) {
	for name, test := range map[string]struct{ file, want string }{
		"empty":            {"# nothing\n", ""},
		"not YAML":         {"a: 1\n---\nb: [\nc: 1\n", "app.yaml:1:1: not an object with apiVersion, kind and metadata\napp.yaml:4:1: not YAML: did not find expected ',' or ']'"},
		"binary":           {"\x7fELF\x01\x02", "app.yaml:1:1: character U+007F is not allowed"},
		"text":             {"hello\n", "app.yaml:1:1: not an object with apiVersion, kind and metadata"},
		"no kind":          {"apiVersion: v1\n", "app.yaml:1:1: kind: missing"},
		"no apiVersion":    {"kind: Shop\n", "app.yaml:1:1: apiVersion: missing"},
		"large":            {"a: |\n" + strings.Repeat("  xxxxxxx\n", 105_000), "app.yaml:1:1: a document of more than 1048576 bytes"},
		"huge":             {strings.Repeat("a: 1\n---\n", 500_000), "app.yaml: larger than 4 MiB"},
		"many values":      {"a: [" + strings.Repeat("1,", 200_000) + "]\n", "app.yaml:1:1: a document with more than 200000 values and lines"},
		"admitted":         {"a: [" + strings.Repeat("1,", 199_990) + "]\n", "app.yaml:1:1: not an object with apiVersion, kind and metadata"},
		"many lines":       {strings.Repeat("---\n", 500_001), "app.yaml: more than 500000 values and lines"},
		"many tags":        {strings.Repeat("! ", 500_001), "app.yaml: more than 500000 values and lines"},
		"deep":             {strings.Repeat("[", 100_000), "app.yaml:1:1: not YAML: exceeded max depth of 10000"},
		"anchor of itself": {"&a\nkind: *a\n", "app.yaml:1:1: not an object with apiVersion, kind and metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, problems := range worker.Documents("app.yaml", []byte(test.file)) {
				if problems != nil {
					got = append(got, problems.Error())
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDocumentLimit renders an instance in a file that exceeds a limit.
func TestDocumentLimit(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: 2 * time.Second, Grace: time.Hour})
	key, _ := load(t, pool, "endless", inlined(hostile))
	file := "---\napiVersion: pequod.io/v1alpha1\nkind: Shop\nmetadata: {name: a}\nspec: {mode: time}\n"
	for doc := range worker.Documents("app.yaml", []byte(file)) {
		_, err := pool.RenderDocument(t.Context(), key, doc, "default")
		var limit *worker.LimitError
		if want := "app.yaml:2:1: platform pequod-system/endless: evaluation took longer than 2s of CPU time"; !errors.As(err, &limit) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestRules renders an instance that a rule in CEL of its module refuses, as pequod validate does.
func TestRules(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: time.Minute})
	key, loaded := load(t, pool, "shop", inlined(`package shop
#Platform: kind: "Shop"
#Input: {
	@k8s(rule="self.min <= self.max",message="min is above max",fieldPath=.min)
	min: *1 | int
	max: *5 | int
}
#Render: {input: {metadata: {name: string, namespace: string}, spec: #Input}, output: nodes: {}}
`))
	if rules := loaded.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].XValidations; len(rules) != 1 {
		t.Errorf("rules of the CRD: %v", rules)
	}
	for minimum, want := range map[int64]string{5: "", 6: "spec.min: min is above max"} {
		in := shop("a", "")
		in.Object["spec"] = map[string]any{"min": minimum}
		r, err := pool.Render(t.Context(), key, in, "default")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Problems.Err()); want == "" && r.Graph == nil || want != "" && !strings.Contains(got, want) {
			t.Errorf("%d: %s, want %q", minimum, got, want)
		}
	}
}
