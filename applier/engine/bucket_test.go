package engine

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestBucket has graphs with a bucket and without one find objects with all sorts of buckets. The label is no reason
// to write an object, which keeps it or gets that of the graph when it is written.
func TestBucket(t *testing.T) {
	for _, c := range []struct {
		graph, object string
		labeled       bool
		written       string
	}{
		{"", "", true, ""},
		{"", "5", true, "5"},
		{"5", "", true, "5"},
		{"5", "5", true, "5"},
		{"5", "6", false, "5"},
	} {
		object := configMap(t, self, "a", "u-a", 5, "1")
		if c.object != "" {
			labels := object.GetLabels()
			labels[v1alpha1.LabelBucket] = c.object
			object.SetLabels(labels)
		}
		b := newEnv(t, oneNode, nil, Options{Applied: true, Bucket: c.graph})
		b.survey(object)
		for _, target := range b.Tracked() {
			if target.Labeled != c.labeled {
				t.Errorf("%+v: watched by labels: %t", c, target.Labeled)
			}
		}
		b.step()
		b.answer(Record, Outcome{})
		b.expect("Apply a")
		a := b.answer(Apply, Outcome{Object: object})
		if got := (&unstructured.Unstructured{Object: a.Apply.Object}).GetLabels()[v1alpha1.LabelBucket]; got != c.written {
			t.Errorf("%+v: written with %q", c, got)
		}
		if without := newEnv(t, oneNode, nil, Options{Applied: true}); without.digestOf("a") != b.digestOf("a") {
			t.Errorf("%+v: the label is a part of the digest", c)
		}
	}
}

// digestOf returns the digest of the desired object of a node.
func (b *env) digestOf(id string) string {
	n := b.nodes.byID[id]
	b.resolveDesired(n)
	return n.desired.digest
}
