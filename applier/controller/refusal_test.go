package controller

import (
	"testing"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
)

// An object that a graph can't take is deleted. A kubeconfig that is being rotated is no reason
// for that.
func TestRefusal(t *testing.T) {
	ref := v1alpha1.SecretKeyReference{Name: "prod"}
	of := func(ref v1alpha1.SecretKeyReference) *kubeConfigSecret { return &kubeConfigSecret{ref: ref} }
	before := &destination{key: destinationKey{"shop", ref, kubeConfigDigest{1}}}
	after := &destination{key: destinationKey{"shop", ref, kubeConfigDigest{2}}}
	elsewhere := v1alpha1.SecretKeyReference{Name: "dev"}
	client := &cluster.Client{}
	for name, test := range map[string]struct {
		p      prerequisites
		in     *destination
		reason string
		fails  bool
	}{
		"here":                          {p: prerequisites{client: client}},
		"here, without an account":      {p: prerequisites{message: "no account"}, reason: "no account"},
		"there":                         {p: prerequisites{client: client, secret: of(ref), destination: before}, in: before},
		"here, from there":              {p: prerequisites{client: client}, in: before, reason: "its objects are in another cluster"},
		"there, from here":              {p: prerequisites{client: client, secret: of(ref), destination: before}, reason: "its objects are in another cluster"},
		"elsewhere":                     {p: prerequisites{client: client, secret: of(elsewhere), destination: &destination{}}, in: before, reason: "its objects are in another cluster"},
		"there, rotated":                {p: prerequisites{client: client, secret: of(ref), destination: after}, in: before, fails: true},
		"there, the Secret is gone":     {p: prerequisites{secret: of(ref), reason: reasonKubeConfigMissing, message: "gone"}, in: before, fails: true},
		"there, without the right":      {p: prerequisites{secret: of(ref), reason: reasonKubeConfigRefused, message: "may not"}, in: before, reason: "may not"},
		"there, without an account":     {p: prerequisites{message: "no account"}, in: before, reason: "no account"},
		"elsewhere, the Secret is gone": {p: prerequisites{secret: of(elsewhere), reason: reasonKubeConfigMissing, message: "gone"}, in: before, reason: "gone"},
	} {
		reason, err := test.p.refusal(test.in)
		if reason != test.reason || (err != nil) != test.fails {
			t.Errorf("%s: got %q, %v", name, reason, err)
		}
	}
}
