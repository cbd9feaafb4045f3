package inventory

import (
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestOwner(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, o := range []Owner{{"default", "web"}, {"a", "web.example"}, {"default", long}} {
		own := o.Labels()
		for _, value := range own {
			if problems := validation.IsValidLabelValue(value); problems != nil {
				t.Errorf("%s: label %q: %v", o, value, problems)
			}
		}
		selector, err := labels.Parse(o.Selector())
		if err != nil {
			t.Fatal(err)
		}
		if !o.Owns(own) || !selector.Matches(labels.Set(own)) {
			t.Errorf("%s doesn't own what carries its labels", o)
		}
		for _, other := range []Owner{{"other", o.Name}, {o.Namespace, "other"}, {o.Namespace, long + "y"}} {
			if other.Owns(own) || o.Owns(other.Labels()) {
				t.Errorf("%s owns what is %s's", other, o)
			}
		}
		for label := range own {
			less := maps.Clone(own)
			delete(less, label)
			if label == "app.kubernetes.io/managed-by" {
				if !o.Owns(less) {
					t.Errorf("%s: without %s: not owned", o, label)
				}
				continue
			}
			if _, owned := OwnerOf(less); owned || o.Owns(less) {
				t.Errorf("%s: without %s: owned", o, label)
			}
		}
	}
	if got, owned := OwnerOf(Owner{"default", "web"}.Labels()); !owned || got.String() != "default/web" {
		t.Errorf("%v, %t", got, owned)
	}
}
