package distribute

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/sign"
)

// verifyOptions are the flags of module verify.
type verifyOptions struct {
	platform.RegistryFlags
	trustFlags
}

// newVerifyCommand returns the command "module verify".
func newVerifyCommand(env command.Env) *cobra.Command {
	o := &verifyOptions{}
	cmd := &cobra.Command{
		Use:   "verify REF",
		Short: "Verify the signature of a published module or bundle",
		Long: `Verify that a published module, or a bundle of 'pequod push', is signed by the owner of a
key, or by an identity with a certificate of Sigstore. The signatures are those beside REF:
of 'pequod module sign', 'pequod push --sign-key' and cosign 3. They must be for the digest
that REF has now, which is printed with the signers.

With --trusted-root, the signature must have everything for which the file has
authorities: usually a certificate, its entry in a log of certificates, and an entry in a
transparency log. Get the file with 'cosign trusted-root create' or from the owner of the
Sigstore instance.

Only the registry is asked, and nothing at all for a layout. The exit code is 1 if no
signature is trusted.`,
		Example: `  pequod module verify oci://ghcr.io/acme/web-shop:v1.4.0 --key cosign.pub
  pequod module verify oci-layout:mirror:v1.4.0 --trusted-root trusted_root.json \
    --certificate-oidc-issuer https://token.actions.githubusercontent.com \
    --certificate-identity-regexp '^https://github.com/acme/'`,
		Args:              cobra.ExactArgs(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args[0]) },
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o.RegistryFlags.AddFlags(cmd)
	o.trustFlags.addFlags(cmd)
	return cmd
}

// run verifies the artifact that arg refers to, and prints what was found.
func (o *verifyOptions) run(ctx context.Context, env command.Env, arg string) error {
	ref, err := oci.ParseRef(arg)
	if err != nil {
		return err
	}
	trust, err := o.trust(ctx)
	if err != nil {
		return err
	}
	if trust == nil {
		return errors.New("no signer; name a key with --key, or identities with --trusted-root")
	}
	client, err := o.Client()
	if err != nil {
		return err
	}
	img, err := client.Image(ctx, ref)
	if err != nil {
		return platform.Refused(err)
	}
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	ref.Digest = digest.String()
	statements, err := trust.Find(ctx, client, ref, sign.SignatureType)
	var untrusted *sign.UntrustedError
	if errors.As(err, &untrusted) {
		return refused(err)
	}
	if err != nil {
		return err
	}
	var b strings.Builder
	line(&b, "Digest", ref.Digest)
	for _, s := range statements {
		line(&b, "Signed by", s.Signer.String())
	}
	_, err = io.WriteString(env.Out, b.String())
	return command.OutputError(err)
}
