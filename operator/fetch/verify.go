package fetch

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules/cache"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/sign"
	"github.com/pequod-io/pequod/modules/trust"
)

const (
	// keySuffix ends the keys of Secrets with public keys, as in Flux: cosign.pub, for
	// example.
	keySuffix = ".pub"
	// rootKey is the key of Secrets with the authorities that certify identities. The process
	// has none of its own, because that would trust a public service by default.
	rootKey = "trusted_root.json"
)

// signers returns the trust in those whose signature a reference demands, or nil if it
// demands none.
func (s *session) signers(ctx context.Context, ref v1alpha1.CueRef) (*sign.Trust, error) {
	v := ref.Verify
	switch {
	case v == nil:
		return nil, nil
	case ref.Type != v1alpha1.CueRefOCI:
		return nil, &Error{InvalidReference, "verify: only modules of type oci have signatures"}
	case v.Provider != v1alpha1.VerifyCosign:
		return nil, &Error{InvalidReference, fmt.Sprintf("verify: %q is not a provider; want %s", v.Provider, v1alpha1.VerifyCosign)}
	case v.SecretRef == "":
		return nil, &Error{InvalidReference, "verify: has no secretRef, the Secret with the public keys"}
	}
	for _, i := range v.MatchOIDCIdentity {
		for _, expression := range []string{i.Issuer, i.Subject} {
			if _, err := regexp.Compile(expression); err != nil {
				return nil, &Error{InvalidReference, "verify: matchOIDCIdentity: " + err.Error()}
			}
		}
	}
	secret, err := s.Client.Secrets(s.namespace).Get(ctx, v.SecretRef, metav1.GetOptions{})
	if err != nil {
		return nil, secretError(fmt.Errorf("verify: secret %s/%s: %w", s.namespace, v.SecretRef, err))
	}
	made, err := trusted(secret, v.MatchOIDCIdentity)
	if err != nil {
		return nil, &Error{SecretInvalid, fmt.Sprintf("verify: secret %s/%s: %v", s.namespace, v.SecretRef, err)}
	}
	return made, nil
}

// trusted returns the trust in the owners of the public keys of a Secret or, if there are
// identities, in these.
func trusted(secret *corev1.Secret, identities []v1alpha1.OIDCIdentity) (*sign.Trust, error) {
	if len(identities) > 0 {
		root, ok := secret.Data[rootKey]
		if !ok {
			return nil, fmt.Errorf("has no key %s with the authorities for matchOIDCIdentity", rootKey)
		}
		var all []sign.Identity
		for _, i := range identities {
			all = append(all, sign.Identity{Issuer: i.Issuer, Subject: i.Subject})
		}
		made, err := sign.Identities(root, all)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rootKey, err)
		}
		return made, nil
	}
	var all []byte
	for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
		if !strings.HasSuffix(key, keySuffix) {
			continue
		}
		if _, err := sign.Keys(secret.Data[key]); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		all = append(append(all, secret.Data[key]...), '\n')
	}
	if all == nil {
		return nil, fmt.Errorf("has no key that ends in %s, such as cosign%s", keySuffix, keySuffix)
	}
	return sign.Keys(all)
}

// guard returns the rule that all artifacts need a signature of a signer.
func (s *session) guard(signers *sign.Trust) *trust.Guard {
	rule := trust.Rule{Modules: []string{"**"}, Trust: func() (*sign.Trust, error) { return signers, nil }}
	return trust.New([]trust.Rules{{Verify: []trust.Rule{rule}}}, records{s.cache})
}

// records implements [trust.Locks]: they remember which artifacts are signatures, which are
// verified again each time, and lock no signer.
type records struct{ *cache.Cache }

func (records) Signer(oci.Ref, []string) error { return nil }
func (records) Offline() bool                  { return false }
