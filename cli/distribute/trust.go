package distribute

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/modules/sign"
)

// trustFlags are the flags that name the signers to trust. They are those of cosign.
type trustFlags struct {
	// key is a file with public keys.
	key string
	// trustedRoot is a file with the authorities that certify the identities.
	trustedRoot string
	// identity and issuer are texts, the others regular expressions.
	identity, identityRegexp, issuer, issuerRegexp string
}

// addFlags registers the flags with cmd.
func (f *trustFlags) addFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.key, "key", "", "PEM file with the public keys of the signers")
	fl.StringVar(&f.trustedRoot, "trusted-root", "", "file trusted_root.json of Sigstore, for signatures with certificates")
	fl.StringVar(&f.identity, "certificate-identity", "", "with --trusted-root, the subject of the certificate, such as an address or the URL of a workflow")
	fl.StringVar(&f.identityRegexp, "certificate-identity-regexp", "", "a regular expression instead of --certificate-identity; it matches a part unless it has ^ and $")
	fl.StringVar(&f.issuer, "certificate-oidc-issuer", "", "with --trusted-root, the URL of the issuer of the identity")
	fl.StringVar(&f.issuerRegexp, "certificate-oidc-issuer-regexp", "", "a regular expression instead of --certificate-oidc-issuer")
	cmd.MarkFlagsMutuallyExclusive("key", "trusted-root")
	cmd.MarkFlagsMutuallyExclusive("certificate-identity", "certificate-identity-regexp")
	cmd.MarkFlagsMutuallyExclusive("certificate-oidc-issuer", "certificate-oidc-issuer-regexp")
}

// trust returns the trust in the signers, or nil if no flag names them.
func (f *trustFlags) trust(ctx context.Context) (*sign.Trust, error) {
	identity := sign.Identity{Issuer: exactly(f.issuer, f.issuerRegexp), Subject: exactly(f.identity, f.identityRegexp)}
	switch {
	case f.key == "" && f.trustedRoot == "" && identity == sign.Identity{}:
		return nil, nil
	case f.trustedRoot == "" && identity != sign.Identity{}:
		return nil, errors.New("--certificate-identity and --certificate-oidc-issuer require --trusted-root")
	case f.key != "":
		data, err := files.ReadFile(ctx, f.key)
		if err != nil {
			return nil, err
		}
		return about(f.key)(sign.Keys(data))
	case identity.Issuer == "" || identity.Subject == "":
		return nil, errors.New("--trusted-root requires --certificate-identity and --certificate-oidc-issuer")
	}
	data, err := files.ReadFile(ctx, f.trustedRoot)
	if err != nil {
		return nil, err
	}
	return about(f.trustedRoot)(sign.Identities(data, []sign.Identity{identity}))
}

// exactly returns a regular expression that matches only text, or the given one.
func exactly(text, expression string) string {
	if text == "" {
		return expression
	}
	return "^" + regexp.QuoteMeta(text) + "$"
}

// about puts the name of a file in front of an error.
func about(file string) func(*sign.Trust, error) (*sign.Trust, error) {
	return func(t *sign.Trust, err error) (*sign.Trust, error) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return t, nil
	}
}

// passwordVariable is the environment variable with the password of a private key. It is
// that of cosign.
const passwordVariable = "COSIGN_PASSWORD"

// loadKey reads a private key.
func loadKey(ctx context.Context, env command.Env, file string) (*sign.PrivateKey, error) {
	data, err := files.ReadFile(ctx, file)
	if err != nil {
		return nil, err
	}
	key, err := sign.LoadPrivateKey(data, func() ([]byte, error) {
		password, ok := env.Getenv(passwordVariable)
		if !ok {
			return nil, errors.New("the key is encrypted; set " + passwordVariable + " to its password")
		}
		return []byte(password), nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return key, nil
}
