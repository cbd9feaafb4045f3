package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestVerified checks signatures and tokens of all senders. The first is the example of GitHub's
// documentation.
func TestVerified(t *testing.T) {
	t.Parallel()
	const body, token = "Hello, World!", "It's a Secret to Everybody"
	const published = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	old := hmac.New(sha1.New, []byte(token))
	old.Write([]byte(body))
	sha1Sum := hex.EncodeToString(old.Sum(nil))
	long := hmac.New(sha512.New, []byte(token))
	long.Write([]byte(body))
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Add(pairs[i], pairs[i+1])
		}
		return h
	}
	for _, test := range []struct {
		name   string
		kind   v1alpha1.WebhookType
		header http.Header
		want   bool
	}{
		{"published", v1alpha1.WebhookGitHub, header("X-Hub-Signature-256", "sha256="+published), true},
		{"one bit differs", v1alpha1.WebhookGitHub, header("X-Hub-Signature-256", "sha256=657107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"), false},
		{"shorter", v1alpha1.WebhookGitHub, header("X-Hub-Signature-256", "sha256="+published[:32]), false},
		{"empty", v1alpha1.WebhookGitHub, header("X-Hub-Signature-256", "sha256="), false},
		{"missing", v1alpha1.WebhookGitHub, header(), false},
		{"twice", v1alpha1.WebhookGitHub, header("X-Hub-Signature-256", "sha256="+published, "X-Hub-Signature-256", "sha256="+published), false},
		{"sha1 only", v1alpha1.WebhookGitHub, header("X-Hub-Signature", "sha1="+sha1Sum), false},
		{"sha1 in the new header", v1alpha1.WebhookGitHub, header("X-Hub-Signature-256", "sha1="+sha1Sum), false},
		{"generic-hmac", v1alpha1.WebhookGenericHMAC, header("X-Signature", "sha256="+published), true},
		{"generic-hmac sha512", v1alpha1.WebhookGenericHMAC, header("X-Signature", "sha512="+hex.EncodeToString(long.Sum(nil))), true},
		{"generic-hmac sha1", v1alpha1.WebhookGenericHMAC, header("X-Signature", "sha1="+sha1Sum), false},
		{"bitbucket", v1alpha1.WebhookBitbucket, header("X-Hub-Signature", "sha256="+published), true},
		{"bitbucket sha1", v1alpha1.WebhookBitbucket, header("X-Hub-Signature", "sha1="+sha1Sum), false},
		{"gitlab", v1alpha1.WebhookGitLab, header("X-Gitlab-Token", token), true},
		{"gitlab wrong", v1alpha1.WebhookGitLab, header("X-Gitlab-Token", token+"!"), false},
		{"gitlab missing", v1alpha1.WebhookGitLab, header(), false},
		{"harbor", v1alpha1.WebhookHarbor, header("Authorization", token), true},
		{"harbor missing", v1alpha1.WebhookHarbor, header(), false},
		{"bearer", v1alpha1.WebhookBearer, header("Authorization", "Bearer "+token), true},
		{"bearer without the word", v1alpha1.WebhookBearer, header("Authorization", token), false},
		{"path only", v1alpha1.WebhookDockerHub, header(), true},
		{"unknown", "nexus", header(), false},
	} {
		if got := verified(test.kind, []byte(token), test.header, []byte(body)); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}

// TestPath checks that a path depends on the token, the name and the namespace, and is that of
// Flux.
func TestPath(t *testing.T) {
	t.Parallel()
	// printf %s token-of-sixteen-bytesinfra-runsshop | sha256sum
	const want = "/hook/c798712b5c302553a353cef4d9ed253c336549bf8eb4201a91ac011fa69b91db"
	if got := Path([]byte("token-of-sixteen-bytes"), "shop", "infra-runs"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !paths.MatchString(want) || paths.MatchString(want+"/") {
		t.Error("the form of the path")
	}
}

// secrets has one token.
type secrets string

func (s secrets) Secret(context.Context, string, string, string) (map[string][]byte, error) {
	return map[string][]byte{"token": []byte(s)}, nil
}

// TestToken refuses tokens that can be guessed.
func TestToken(t *testing.T) {
	t.Parallel()
	r := &v1alpha1.Receiver{Spec: v1alpha1.ReceiverSpec{Source: v1alpha1.ReceiverSource{Webhook: &v1alpha1.WebhookSource{}}}}
	for token, want := range map[string]bool{"": false, strings.Repeat("x", MinToken-1): false, strings.Repeat("x", MinToken): true} {
		got, err := Token(t.Context(), secrets(token), r)
		if (err == nil) != want || want && string(got) != token {
			t.Errorf("%d bytes: %s, %v", len(token), got, err)
		}
	}
}
