package github

import (
	"strings"
	"testing"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	host "github.com/pequod-io/pequod/test/hosts/github"
)

func TestApp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, host.Options{AppID: "123", AppKey: &key().PublicKey, Running: 3 * time.Hour}, deploy())
	app := &v1alpha1.GitHubApp{ID: 123, InstallationID: 7, PrivateKeySecretRef: v1alpha1.SecretKeyRef{Name: "app", Key: "app"}}
	w.run.Request.GitHubWorkflow.Auth = &v1alpha1.GitHubAuth{App: app}
	tokens := func(want int) {
		t.Helper()
		made := 0
		for _, r := range w.Requests() {
			if strings.HasSuffix(r, "/access_tokens") {
				made++
			}
		}
		if made != want {
			t.Errorf("%d tokens, want %d", made, want)
		}
	}
	w.begin(t)
	w.observe(t)
	w.observe(t)
	tokens(1)
	w.sleep(56 * time.Minute) // it would expire in mid-request
	w.observe(t)
	tokens(2)
	w.Revoke("ghs_installation1003")
	w.observe(t)
	tokens(3)
	app.ID = 124
	_, err := w.e.Observe(t.Context(), w.run)
	if class(err) != "terminal" || !strings.Contains(err.Error(), "'Issuer' claim") || strings.Contains(err.Error(), "eyJ") {
		t.Errorf("another App: %v", err)
	}
	app.PrivateKeySecretRef.Key = "token"
	if _, err := w.e.Observe(t.Context(), w.run); class(err) != "retry" || !strings.Contains(err.Error(), "it is not PEM") {
		t.Errorf("no key: %v", err)
	}
}
