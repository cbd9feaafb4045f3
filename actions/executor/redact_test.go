package executor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestExcerpt quotes servers without what may be a secret.
func TestExcerpt(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"no such ref: main": "no such ref: main",
		`{"message": "Unexpected inputs provided: [\"size\"]", "documentation_url": "https://x"}`: `Unexpected inputs provided: ["size"]`,
		`{"detail": "storage must be at least 10"}`:                                               "storage must be at least 10",
		`{"dump": {"db": "hunter2"}}`:                                                             "",
		`{"message": "got Authorization: Bearer abc.def"}`:                                        "got Authorization: [redacted] [redacted]",
		"<html><body>Bad gateway 10.0.0.1</body></html>":                                          "",
		"refused with Bearer s3cret":                                                              "refused with Bearer [redacted]",
		"see https://u:p@blobs.example.com/log?sig=abc&se=1 for more":                             "see https://blobs.example.com/log for more",
		"password=hunter2 is wrong":                                                               "password=[redacted] is wrong",
		"token: ghp_16C7e42F292c6912E7710c838347Ae178B4a has no right":                            "token: [redacted] has no right",
		"expired: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4":                    "expired: [redacted]",
		`{"message": {"base": ["Reference not found"], "ref": ["token=abc", 1]}}`:                 "base: Reference not found; ref: token=[redacted]",
		"internationalisation-of-everything failed":                                               "internationalisation-of-everything failed",
	} {
		if got := excerpt([]byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// TestPublish leaves nothing of a credential in any string that a server controls.
func TestPublish(t *testing.T) {
	t.Parallel()
	const token = "tok-AAAABBBBCCCC-1234567890"
	observe := func() *Observation {
		return &Observation{
			State: v1alpha1.RunRunning, ID: "7", URL: "https://ci/" + token, Message: "got " + token, Secrets: []string{token},
			Data: map[string]any{"response": map[string]any{"body": map[string]any{"token": token}}},
			Jobs: []v1alpha1.RunJob{{Name: token, Status: token, Conclusion: token}}, Artifacts: []v1alpha1.RunArtifact{{Name: "a-" + token}},
			Plan: &v1alpha1.ActionPlan{Digest: token, Summary: "adds " + token},
		}
	}
	public := func(o *Observation) string {
		o.Secrets, o.Raw = nil, nil
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	o := observe()
	o.Publish()
	if o.Raw["response"].(map[string]any)["body"].(map[string]any)["token"] != token {
		t.Errorf("raw: %v", o.Raw)
	}
	if text := public(o); strings.Contains(text, "AAAABBBB") || o.State != v1alpha1.RunRunning || o.ID != "7" {
		t.Errorf("%s", text)
	}
	for address, want := range map[string]string{"https://ci/7": "https://ci/7", "javascript:alert(1)": ""} {
		o := observe()
		o.URL = address
		if o.Publish(); o.URL != want {
			t.Errorf("%s is recorded as %q", address, o.URL)
		}
	}
	o = observe()
	o.ID = "runs/" + token
	o.Publish()
	if text := public(o); strings.Contains(text, "AAAABBBB") || o.State != v1alpha1.RunFailed || !o.Permanent {
		t.Errorf("%s", text)
	}
}
