package objectdiff_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
)

func live(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	if text == "" {
		return nil
	}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return obj
}

const managed = `
  managedFields:
  - {manager: pequod, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:a": {}, "f:own": {}}}}
  - {manager: kubectl-edit, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:b": {}}}}
`

func TestCompareLive(t *testing.T) {
	const config = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  namespace: d\n"
	tests := map[string]struct {
		before, after string
		with          objectdiff.Live
		want          string
	}{
		"equal but for fields of the API server": {
			before: config + "  uid: a\n  resourceVersion: \"1\"\n  generation: 1\nstatus: {x: 1}",
			after:  config + "  uid: a\n  resourceVersion: \"2\"\n  generation: 2\nstatus: {x: 2}",
			want:   "Plan: 0 to add, 0 to change, 0 to remove\n",
		},
		"who changed what": {
			before: config + managed + "data: {a: old, b: theirs, own: x}",
			after:  config + "data: {a: new, b: ours, c: added}",
			want: `~ ConfigMap d/x  (graph d/g)
~   data.a: old → new
~   data.b: theirs → ours  (set by kubectl-edit)
+   data.c: added
-   data.own: x

Plan: 0 to add, 1 to change, 0 to remove
`,
		},
		"drift": {
			before: config + managed + "data: {a: x, b: theirs}",
			after:  config + "data: {a: x, b: ours, c: removed}",
			with:   objectdiff.Live{CorrectsDrift: true},
			want: `~ ConfigMap d/x  (graph d/g)
~   data.b: theirs → ours  (set by kubectl-edit)
+   data.c: removed  (removed by others)

Plan: 0 to add, 1 to change, 0 to remove
`,
		},
		"known after the apply": {
			before: config + "data: {a: x, b: same}",
			after:  config + "data: {a: x, b: same}",
			with:   objectdiff.Live{Unknown: []reference.Path{{"data", "a"}, {"data", "c"}}},
			want: `~ ConfigMap d/x  (graph d/g)
~   data.a: x → (known after apply)
+   data.c: (known after apply)

Plan: 0 to add, 1 to change, 0 to remove
`,
		},
		"recreated": {
			before: config + managed + "data: {a: x, b: default, own: w}",
			after:  config + "data: {a: z}",
			with: objectdiff.Live{Recreated: true, Warnings: problem.List{
				{Severity: problem.Warning, Rule: objectdiff.RuleImmutable, Message: "data: field is immutable"},
			}},
			want: `~ ConfigMap d/x  (graph d/g), deleted and recreated
~   data.a: x → z
-   data.own: w

! ConfigMap d/x: data: field is immutable

Plan: 0 to add, 1 to change, 0 to remove
`,
		},
		"refused with an unknown result": {
			before: config,
			with:   objectdiff.Live{Refusal: "the namespace is terminating"},
			want: `~ ConfigMap d/x  (graph d/g)

! ConfigMap d/x: the namespace is terminating

Plan: 0 to add, 0 to change, 0 to remove, 1 refused
`,
		},
		"refused when it is created": {
			after: config,
			with:  objectdiff.Live{Refusal: "denied"},
			want: `+ ConfigMap d/x  (graph d/g)
+     apiVersion: v1
+     kind: ConfigMap
+     metadata:
+       name: x
+       namespace: d

! ConfigMap d/x: denied

Plan: 0 to add, 0 to change, 0 to remove, 1 refused
`,
		},
		"leaves the graph": {
			before: "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: x, namespace: d}",
			with:   objectdiff.Live{Leaving: true},
			want: `- PersistentVolumeClaim d/x  (graph d/g)

! PersistentVolumeClaim d/x: the data of the volume is lost, unless the volume's reclaim policy is Retain

Plan: 0 to add, 0 to change, 1 to remove
`,
		},
		"leaves the graph and stays": {
			before: "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: x, namespace: d}",
			with: objectdiff.Live{Leaving: true, Warnings: problem.List{
				{Severity: problem.Warning, Rule: objectdiff.RuleOrphan, Message: "stays"},
			}},
			want: `- PersistentVolumeClaim d/x  (graph d/g)

! PersistentVolumeClaim d/x: stays

Plan: 0 to add, 0 to change, 1 to remove
`,
		},
		"neither before nor after": {want: "Plan: 0 to add, 0 to change, 0 to remove\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := test.with
			l.Graph, l.Manager = "d/g", "pequod"
			l.Before, l.After = live(t, test.before), live(t, test.after)
			d, err := objectdiff.CompareLive([]objectdiff.Live{l})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, shown(d)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// No format may print a value of a Secret.
func TestCompareLiveSecrets(t *testing.T) {
	d, err := objectdiff.CompareLive([]objectdiff.Live{{
		Graph: "d/g", Manager: "pequod",
		Before: live(t, `{apiVersion: v1, kind: Secret, metadata: {name: x, namespace: d, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"a":"aHVudGVyMg=="}}', note: "is hunter2"}}, data: {a: aHVudGVyMg==}}`),
		After:  live(t, `{apiVersion: v1, kind: Secret, metadata: {name: x, namespace: d}, data: {a: aHVudGVyMw==, b: aHVudGVyNA==}}`),
	}, {
		Graph: "d/g", Manager: "pequod",
		After: live(t, `{apiVersion: v1, kind: Secret, metadata: {name: z, namespace: d}, stringData: {a: hunter5}}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	b := bytes.NewBufferString(shown(d))
	for _, v := range []any{d, d.Report()} {
		if err := json.NewEncoder(b).Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	for _, value := range []string{"hunter", "aHVudGVy"} {
		if strings.Contains(b.String(), value) {
			t.Errorf("%s is in\n%s", value, b.String())
		}
	}
}

// shown returns a diff as lines: the objects, their warnings and the plan.
func shown(d objectdiff.Diff) string {
	var b, warnings strings.Builder
	for i := range d.Objects {
		o := &d.Objects[i]
		recreated := ""
		if o.Recreated {
			recreated = ", deleted and recreated"
		}
		fmt.Fprintf(&b, "%c %s  (graph %s)%s\n", o.Action.Sign(), o.Key, o.Graph(), recreated)
		for _, l := range o.Lines() {
			fmt.Fprintf(&b, "%c %*s%s\n", l.Sign, l.Indent, "", l.Text)
		}
		b.WriteString("\n")
		for _, w := range o.Warnings {
			fmt.Fprintf(&warnings, "! %s: %s\n", o.Key, w.Message)
		}
	}
	if warnings.Len() > 0 {
		warnings.WriteString("\n")
	}
	p := d.Plan()
	fmt.Fprintf(&warnings, "Plan: %d to add, %d to change, %d to remove", p.Add, p.Change, p.Remove)
	if p.Refused > 0 {
		fmt.Fprintf(&warnings, ", %d refused", p.Refused)
	}
	return b.String() + warnings.String() + "\n"
}
