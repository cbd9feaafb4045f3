package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// proofs are the headers by which senders prove that they have the token.
var proofs = map[v1alpha1.WebhookType]string{
	v1alpha1.WebhookGitHub: "X-Hub-Signature-256", v1alpha1.WebhookBitbucket: "X-Hub-Signature", v1alpha1.WebhookGenericHMAC: "X-Signature",
	v1alpha1.WebhookGitLab: "X-Gitlab-Token", v1alpha1.WebhookHarbor: "Authorization", v1alpha1.WebhookBearer: "Authorization",
}

// FuzzVerified sends requests with any proof and body. Only those are verified that have the token, or
// the signature of the body made with it. No message has the proof among its headers.
func FuzzVerified(f *testing.F) {
	const token = "It's a Secret to Everybody"
	const published = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	for _, kind := range []v1alpha1.WebhookType{v1alpha1.WebhookGitHub, v1alpha1.WebhookBitbucket, v1alpha1.WebhookGenericHMAC} {
		f.Add(string(kind), published, "delivery", []byte("Hello, World!"))
		f.Add(string(kind), "sha1=00", "", []byte(`{"a": [1, 2.5, "x"]}`))
	}
	f.Add("gitlab", token, "event", []byte(`{"object_kind": "push"}`))
	f.Add("harbor", token, "", []byte("null"))
	f.Add("bearer", "Bearer "+token, "", []byte("a=b&c=d"))
	f.Add("cdevents", "", "42", []byte(`{"specversion": "1.0", "type": "dev.cdevents.x"}`))
	f.Fuzz(func(t *testing.T, kind, proof, name string, body []byte) {
		header := http.Header{}
		for _, h := range []string{"X-Github-Delivery", "X-Github-Event", "Idempotency-Key", "X-Request-Uuid", "Ce-Id", "Ce-Source", "Ce-Type"} {
			header.Set(h, name)
		}
		which, proves := proofs[v1alpha1.WebhookType(kind)]
		if proves {
			header.Set(which, proof)
		}
		got := verified(v1alpha1.WebhookType(kind), []byte(token), header, body)
		if want := proves && slices.Contains(valid(kind, token, body), normal(proof)); proves && got != want {
			t.Errorf("%s with %q is verified: %t", kind, proof, got)
		}
		m := source.New(id(v1alpha1.WebhookType(kind), header), header, body)
		if _, ok := m.Headers[strings.ToLower(which)]; ok || m.Size != len(body) || len(m.Digest) != 64 {
			t.Errorf("the message %+v", m)
		}
	})
}

// normal returns a signature in lower case, since hexadecimal digits have two forms. The name of the
// algorithm has one.
func normal(proof string) string {
	if name, digits, ok := strings.Cut(proof, "="); ok && strings.HasPrefix(name, "sha") {
		return name + "=" + strings.ToLower(digits)
	}
	return proof
}

// valid returns all proofs of a body.
func valid(kind, token string, body []byte) (proofs []string) {
	switch kind {
	case "bearer":
		return []string{"Bearer " + token}
	case "gitlab", "harbor":
		return []string{token}
	}
	for name, algorithm := range map[string]func() hash.Hash{"sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New} {
		mac := hmac.New(algorithm, []byte(token))
		mac.Write(body)
		proofs = append(proofs, name+"="+hex.EncodeToString(mac.Sum(nil)))
	}
	return proofs
}
