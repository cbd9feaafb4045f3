package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	hooks "github.com/pequod-io/pequod/operator/admission/serve"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// TestReplicasCheckInstances runs two replicas. The one that doesn't lead answers as the leader
// does, with the content that the leader has recorded.
func TestReplicasCheckInstances(t *testing.T) {
	t.Parallel()
	h := installHooks(t)
	ctx := t.Context()
	leader := h.run(t)
	h.Apply(t, rangeTransform("Span"))
	spans := h.Await(t, "pequod.io/v1alpha1", "Span", h.Namespace)
	h.registered(t, "spans.pequod.io")
	checked(t, spans, "Span")

	// The second one has another address, to which the webhooks move. It is ready when it
	// can answer.
	h.Address = process.FreeAddress(t)
	h.run(t)
	move := fmt.Sprintf(`[{"op": "replace", "path": "/webhooks/0/clientConfig/url", "value": "https://%s%s"}]`, h.Address, hooks.TransformsPath)
	if _, err := h.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(ctx, hooks.Manager, types.JSONPatchType, []byte(move), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		live, err := h.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, hooks.Manager, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, w := range live.Webhooks {
			if !strings.HasPrefix(*w.ClientConfig.URL, "https://"+h.Address+"/") || len(w.ClientConfig.CABundle) == 0 {
				return fmt.Errorf("%s is called at %s", w.Name, *w.ClientConfig.URL)
			}
		}
		if len(live.Webhooks) != 2 {
			return errors.New("the webhook of spans is missing")
		}
		return nil
	})
	checked(t, spans, "Span")
	in := instanceOf(t, "Span", "wrong", "{min: 7, max: 1}")
	_, err := apply(ctx, spans, in)
	if want := validated(t, rangeTransform("Span"), in); err == nil || !strings.Contains(place.ReplaceAllString(err.Error(), ""), place.ReplaceAllString(want, "")) {
		t.Errorf("%v\nwant %s", err, want)
	}

	// Another module reaches it, after the leader has taken it over.
	h.Apply(t, strings.ReplaceAll(rangeTransform("Span"), "is less than", "is below"))
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if _, err := apply(ctx, spans, in, metav1.DryRunAll); err == nil || !strings.Contains(err.Error(), "spec.max: is below spec.min, 7") {
			return fmt.Errorf("another answer: %w", err)
		}
		return nil
	})
	// It becomes the leader.
	leader.Stop(t)
	if _, err := apply(ctx, spans, instanceOf(t, "Span", "good", "{min: 7}")); err != nil {
		t.Fatal(err)
	}
	hasCondition(t, h.Cluster, "pequod.io/v1alpha1", "Span", h.Namespace, "good", "Ready", "True", "")
	checked(t, spans, "Span")
}
