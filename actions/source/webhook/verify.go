package webhook

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"hash"
	"net/http"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// prefix is the beginning of all paths.
const prefix = "/hook/"

// MinToken is the size of the shortest token in bytes. A shorter one could be found by trying
// paths.
const MinToken = 16

// Path returns the path of a Receiver. It is the one that Flux derives, so senders keep their
// address when a Receiver of Flux is replaced.
func Path(token []byte, namespace, name string) string {
	sum := sha256.Sum256(slices.Concat(token, []byte(name+namespace)))
	return prefix + hex.EncodeToString(sum[:])
}

// samePath compares paths in constant time.
func samePath(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// verified reports whether the sender of a request has the token. All comparisons take constant
// time.
func verified(kind v1alpha1.WebhookType, token []byte, h http.Header, body []byte) bool {
	switch kind {
	case v1alpha1.WebhookGenericHMAC:
		return signed(token, one(h, "X-Signature"), body)
	case v1alpha1.WebhookGitHub:
		return signed(token, one(h, "X-Hub-Signature-256"), body)
	case v1alpha1.WebhookBitbucket:
		return signed(token, one(h, "X-Hub-Signature"), body)
	case v1alpha1.WebhookGitLab:
		return equal(token, one(h, "X-Gitlab-Token"))
	case v1alpha1.WebhookHarbor:
		return equal(token, one(h, "Authorization"))
	case v1alpha1.WebhookBearer:
		given, bearer := strings.CutPrefix(one(h, "Authorization"), "Bearer ")
		return equal(token, given) && bearer
	case v1alpha1.WebhookGeneric, v1alpha1.WebhookCDEvents, v1alpha1.WebhookDockerHub, v1alpha1.WebhookQuay, v1alpha1.WebhookACR:
		return true // the path is all that these senders prove
	}
	return false
}

// one returns the value of a header. A header that is repeated counts as missing.
func one(h http.Header, name string) string {
	if values := h.Values(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

// signed reports whether a signature such as sha256=HEX is the HMAC of the body.
func signed(token []byte, signature string, body []byte) bool {
	name, text, _ := strings.Cut(signature, "=")
	var algorithm func() hash.Hash
	switch name {
	case "sha256":
		algorithm = sha256.New
	case "sha384":
		algorithm = sha512.New384
	case "sha512":
		algorithm = sha512.New
	default:
		return false
	}
	given, err := hex.DecodeString(text)
	if err != nil {
		return false
	}
	mac := hmac.New(algorithm, token)
	mac.Write(body) // never fails
	return hmac.Equal(mac.Sum(nil), given)
}

// equal compares a token with what a sender has sent. The hashes have the same length, so the
// time says nothing about that of the token.
func equal(token []byte, given string) bool {
	a, b := sha256.Sum256(token), sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// event returns the name of the event, or "".
func event(kind v1alpha1.WebhookType, h http.Header) string {
	switch kind {
	case v1alpha1.WebhookGitHub:
		return h.Get("X-Github-Event")
	case v1alpha1.WebhookGitLab:
		return h.Get("X-Gitlab-Event")
	case v1alpha1.WebhookBitbucket:
		return h.Get("X-Event-Key")
	case v1alpha1.WebhookCDEvents:
		return h.Get("Ce-Type")
	}
	return ""
}

// id returns the sender's name of the message, or "".
func id(kind v1alpha1.WebhookType, h http.Header) string {
	switch kind {
	case v1alpha1.WebhookGitHub:
		return h.Get("X-Github-Delivery")
	case v1alpha1.WebhookGitLab:
		return cmp.Or(h.Get("Idempotency-Key"), h.Get("X-Gitlab-Event-Uuid"))
	case v1alpha1.WebhookBitbucket:
		return cmp.Or(h.Get("X-Request-Uuid"), h.Get("X-Request-Id"))
	case v1alpha1.WebhookCDEvents:
		if name := h.Get("Ce-Id"); name != "" {
			return h.Get("Ce-Source") + " " + name
		}
	}
	return ""
}
