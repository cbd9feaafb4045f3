package conversion

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/catalog"
)

// upper converts by writing the version into the spec. It can't convert an instance named bad.
type upper struct{ calls int }

func (u *upper) Convert(_ context.Context, _ *catalog.Entry, in []*unstructured.Unstructured, version string) ([]*unstructured.Unstructured, error) {
	u.calls++
	for _, i := range in {
		if i.GetName() == "bad" {
			return nil, errors.New("spec.size: is missing")
		}
		i.SetAPIVersion("pequod.io/" + version)
		i.Object["spec"] = map[string]any{"in": version}
	}
	return in, nil
}

// TestWebhook holds the answers to reviews: the objects in their order, or the reason why none is
// converted.
func TestWebhook(t *testing.T) {
	topic := &catalog.Entry{Names: v1alpha1.Names{Group: "pequod.io", Kind: "Topic", Versions: []v1alpha1.KindVersion{{Name: "v1"}, {Name: "v1alpha1"}}}}
	converter := &upper{}
	w := &Webhook{Converter: converter, Platforms: func(kind schema.GroupKind) []*catalog.Entry {
		if kind == topic.Kind() {
			return []*catalog.Entry{topic}
		}
		return nil
	}}
	review := func(version string, objects ...string) string {
		return `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {"uid": "7", "desiredAPIVersion": "` + version + `", "objects": [` + strings.Join(objects, ",") + `]}}`
	}
	object := func(version, kind, name string) string {
		return `{"apiVersion": "` + version + `", "kind": "` + kind + `", "metadata": {"name": "` + name + `"}}`
	}
	many := make([]string, 2*chunk+1)
	for i := range many {
		many[i] = object("pequod.io/v1alpha1", "Topic", "t")
	}
	for name, test := range map[string]struct {
		body    string
		code    int
		message string
		count   int
		calls   int
	}{
		"one":             {review("pequod.io/v1", object("pequod.io/v1alpha1", "Topic", "a")), 200, "", 1, 1},
		"many":            {review("pequod.io/v1", many...), 200, "", len(many), 3},
		"none":            {review("pequod.io/v1"), 200, "", 0, 0},
		"fails":           {review("pequod.io/v1", object("pequod.io/v1alpha1", "Topic", "bad")), 200, "spec.size: is missing", 0, 1},
		"another group":   {review("pequod.io/v1", object("example.com/v1", "Topic", "a")), 200, "is not of the kind that is converted", 0, 0},
		"two kinds":       {review("pequod.io/v1", object("pequod.io/v1", "Topic", "a"), object("pequod.io/v1", "Queue", "a")), 200, "is not of the kind that is converted", 0, 0},
		"unknown kind":    {review("pequod.io/v1", object("pequod.io/v1", "Queue", "a")), 200, "no module of Queue.pequod.io with the versions [v1] is loaded; try again", 0, 0},
		"unknown version": {review("pequod.io/v1", object("pequod.io/v2", "Topic", "a")), 200, "with the versions [v1 v2]", 0, 0},
		"not an object":   {review("pequod.io/v1", `[]`), 200, "reading an object", 0, 0},
		"no request":      {`{}`, 400, "the review has no request", 0, 0},
		"garbage":         {`{{{`, 400, "reading the review", 0, 0},
	} {
		converter.calls = 0
		recorder := httptest.NewRecorder()
		w.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(test.body)))
		if recorder.Code != test.code || converter.calls != test.calls {
			t.Errorf("%s: %d %s, %d conversions", name, recorder.Code, recorder.Body, converter.calls)
		}
		if test.code != 200 {
			if !strings.Contains(recorder.Body.String(), test.message) {
				t.Errorf("%s: %s", name, recorder.Body)
			}
			continue
		}
		var answer apiextensionsv1.ConversionReview
		if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil || answer.Response == nil {
			t.Fatalf("%s: %v, %s", name, err, recorder.Body)
		}
		r := answer.Response
		failed := r.Result.Status != metav1.StatusSuccess
		if r.UID != "7" || len(r.ConvertedObjects) != test.count || failed != (test.message != "") || !strings.Contains(r.Result.Message, test.message) {
			t.Errorf("%s: %s", name, recorder.Body)
		}
		for _, o := range r.ConvertedObjects {
			if !strings.Contains(string(o.Raw), `"spec":{"in":"v1"}`) {
				t.Errorf("%s: %s", name, o.Raw)
			}
		}
	}
}
