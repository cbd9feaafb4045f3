package controller_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/test/harness"
)

// converted is a kind whose objects are stored in another version than the one that
// graphs use, so that every request for them needs the webhook.
const converted = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Box, plural: boxes, singular: box, listKind: BoxList}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: URL, caBundle: BUNDLE}}
  versions:
  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// converter is a conversion webhook.
type converter struct{ mode atomic.Value }

// The modes of a converter.
const (
	works    = "works"
	down     = "down"     // it answers with an error, as a proxy does whose Pods are gone
	garbage  = "garbage"  // it answers with anything but a review
	replaces = "replaces" // it returns objects with other names
)

func (c *converter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	mode := c.mode.Load()
	switch mode {
	case down:
		http.Error(w, "no endpoints", http.StatusServiceUnavailable)
		return
	case garbage:
		_, _ = w.Write([]byte(`{"kind":"Nonsense"}`))
		return
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		var obj unstructured.Unstructured
		if err := obj.UnmarshalJSON(raw.Raw); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		obj.SetAPIVersion(review.Request.DesiredAPIVersion)
		if mode == replaces {
			obj.SetName("other-" + obj.GetName())
		}
		changed, _ := obj.MarshalJSON()
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Raw: changed})
	}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// A kind whose conversion webhook is down or returns nonsense harms no other graph and no
// other object. Graphs with objects of the kind aren't ready, and lose none of them.
func TestConversionWebhook(t *testing.T) {
	t.Parallel()
	// Of its own: the garbage collector of a cluster stops at such a kind, and may take
	// minutes to go on after the webhook works again.
	b := idle(t, harness.StartOwn(t))
	const group = "conversiontest.example.com"
	webhook := &converter{}
	webhook.mode.Store(works)
	server := httptest.NewTLSServer(webhook)
	t.Cleanup(server.Close)
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	b.define(group, strings.NewReplacer("URL", server.URL, "BUNDLE", ca).Replace(converted))
	b.start(b.Config)
	box := func(name string, size int) string {
		return fmt.Sprintf(`{id: box, resource: {apiVersion: %s/v1alpha1, kind: Box, metadata: {name: %s}, spec: {size: %d}}}`, group, name, size)
	}
	cm := func(name string) string { return configMap("cm", "cm-"+name, "1") }
	for _, name := range []string{"web", "down", "garbage", "replaces"} {
		b.apply(b.rendered(name, nodes(box(name, 0), cm(name))))
	}
	for _, name := range []string{"web", "down", "garbage", "replaces"} {
		b.ready(name)
	}
	// collect waits for the deletion of a box, and ends it in the garbage collector's place.
	collect := func(name string) {
		boxes := b.resource(group+"/v1", "Box")
		b.eventually("the deletion of box "+name, func(ctx ctx) bool {
			box, err := boxes.Get(ctx, name, metav1.GetOptions{})
			if err == nil && box.GetDeletionTimestamp() != nil {
				_, err = boxes.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			}
			return apierrors.IsNotFound(err)
		})
	}
	uid := b.Get(t, group+"/v1", "Box", "web").GetUID()
	for i, mode := range []string{down, garbage, replaces} {
		webhook.mode.Store(mode)
		b.apply(b.rendered("web", nodes(box("web", i+1), cm("web"))))
		b.apply(b.rendered(mode, nodes(cm(mode))))
		b.until(mode, lists("Box "+mode+", ConfigMap cm-"+mode, condition("Ready", "False", "WebhookFailed", "conversion webhook")))
		b.until("web", lists("Box web, ConfigMap cm-web", condition("Ready", "False", "WebhookFailed", "conversion webhook")))
		b.patch("v1", "ConfigMap", "cm-web", "somebody", `{"data":{"a":"other"}}`)
		b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "cm-web") == "1" })
		b.apply(b.rendered("other-"+mode, nodes(configMap("cm", "cm-other-"+mode, "1"))))
		b.ready("other-" + mode)
		b.remove("other-" + mode)
		b.gone("other-" + mode)
		webhook.mode.Store(works)
		b.retry("web")
		b.ready("web")
		b.retry(mode)
		collect(mode)
		b.until(mode, lists("ConfigMap cm-"+mode, isReady))
		b.wantExists(false, group+"/v1", "Box", mode)
	}
	if now := b.Get(t, group+"/v1", "Box", "web").GetUID(); now != uid {
		t.Error("the object was created again")
	}
	b.remove("web")
	collect("web")
	b.gone("web")
	b.wantExists(false, group+"/v1", "Box", "web")
}
