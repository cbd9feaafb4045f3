package executor

import "testing"

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

// TestRedact leaves nothing of a secret that begins with another one.
func TestRedact(t *testing.T) {
	t.Parallel()
	const text = "hunter2 and hunter2-of-production"
	if got, want := redact(text, []string{"hunter2", "hunter2-of-production", "and"}), "[redacted] and [redacted]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
