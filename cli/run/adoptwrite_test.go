package run

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/inventory"
)

const graphHead = "apiVersion: platform.pequod.io/v1alpha1\nkind: ResourceGraph\nmetadata: {name: web}\n"

// TestAddReferences checks the edit of graph files: what is added, and that nothing
// else changes.
func TestAddReferences(t *testing.T) {
	var list adoptList
	list.Adopt.Mode, list.Adopt.Strategy = "Explicit", "TakeOwnership"
	list.Adopt.Resources = []adoptRef{{"v1", "ConfigMap", "", "a"}, {"apps/v1", "Deployment", "other", "123"}}
	const added = "- apiVersion: v1\n  kind: ConfigMap\n  name: a\n- apiVersion: apps/v1\n  kind: Deployment\n  namespace: other\n  name: \"123\"\n"
	indent := func(n int, text string) string {
		return strings.Repeat(" ", n) + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+strings.Repeat(" ", n)) + "\n"
	}
	for name, test := range map[string]struct{ in, want, wantErr string }{
		"no adopt": {
			in:   "spec: # here\n    # a comment\n    graph: {nodes: []}\n",
			want: "spec: # here\n    adopt:\n      mode: Explicit\n      strategy: TakeOwnership\n      resources:\n" + indent(6, added) + "    # a comment\n    graph: {nodes: []}\n",
		},
		"a list": {
			in:   "spec:\n  adopt:\n    resources:\n      - {apiVersion: v1, kind: Secret, name: x} # why\n\n    # strategy\n    strategy: Mirror\n  graph: {nodes: []}\n",
			want: "spec:\n  adopt:\n    resources:\n      - {apiVersion: v1, kind: Secret, name: x} # why\n" + indent(6, added) + "\n    # strategy\n    strategy: Mirror\n  graph: {nodes: []}\n",
		},
		"one is listed": {
			in:   "spec:\n  graph: {nodes: []}\n  adopt:\n    resources:\n    - kind: ConfigMap\n      name: a\n      apiVersion: v1",
			want: "spec:\n  graph: {nodes: []}\n  adopt:\n    resources:\n    - kind: ConfigMap\n      name: a\n      apiVersion: v1\n    - apiVersion: apps/v1\n      kind: Deployment\n      namespace: other\n      name: \"123\"\n",
		},
		"no list": {
			in:   "spec:\n  adopt:\n    mode: Explicit\n  graph: {nodes: []}\n",
			want: "spec:\n  adopt:\n    resources:\n" + indent(4, added) + "    mode: Explicit\n  graph: {nodes: []}\n",
		},
		"braces":         {in: "spec: {graph: {nodes: []}}\n", wantErr: errUneditable.Error()},
		"list in braces": {in: "spec:\n  adopt: {mode: Explicit, resources: []}\n", wantErr: errUneditable.Error()},
		"selector":       {in: "spec:\n  adopt: {mode: LabelSelector}\n", wantErr: "its spec.adopt.mode is LabelSelector, which has no list"},
		"a long scalar":  {in: "spec:\n  adopt:\n    resources:\n    - name: |\n        a\n      kind: X\n    - kind: Y\n      name: >-\n        b\n", wantErr: errUneditable.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			owner := inventory.Owner{Namespace: "shop", Name: "web"}
			got, _, err := addReferences([]byte(graphHead+test.in), owner, "shop", list)
			if err != nil || test.wantErr != "" {
				if err == nil || err.Error() != test.wantErr {
					t.Fatalf("error %v; want %q", err, test.wantErr)
				}
				return
			}
			if diff := cmp.Diff(graphHead+test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			// Windows' line ends stay.
			crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
			got, _, err = addReferences([]byte(crlf(graphHead+test.in)), owner, "shop", list)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(crlf(graphHead+test.want), string(got)); diff != "" {
				t.Errorf("with CRLF (-want +got):\n%s", diff)
			}
			again, n, err := addReferences(got, owner, "shop", list)
			if err != nil || n != 0 || string(again) != string(got) {
				t.Errorf("a second time: %d added, error %v", n, err)
			}
		})
	}
	_, _, err := addReferences([]byte("apiVersion: pequod.io/v1alpha1\nkind: WebService\nmetadata: {name: web}\n"), inventory.Owner{Namespace: "shop", Name: "web"}, "shop", list)
	if err == nil || !strings.HasPrefix(err.Error(), "is not the file of a ResourceGraph; ") {
		t.Errorf("an instance: %v", err)
	}
}
