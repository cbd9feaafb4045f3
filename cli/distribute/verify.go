package distribute

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/sign"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/modules/trust"
)

// verifyOptions are the flags of module verify.
type verifyOptions struct {
	platform.RegistryFlags
	trustFlags
	// LimitFlags have an effect with --rerender only, which is again.
	platform.LimitFlags
	again bool
	// flags are all flags.
	flags *pflag.FlagSet
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

Without these flags, the signers are those that the rules in pequod.yaml demand for REF:
see verify there.

Only the registry is asked, and nothing at all for a layout. The exit code is 1 if no
signature is trusted.

--rerender proves that a bundle is the output of its instances. Run it in a checkout of the
commit that the provenance of the bundle names. It renders the instances again, with the
modules that have the digests in the provenance, and compares the files byte for byte. If
they differ, the files and objects are printed, and the exit code is 1. A signature is not
needed for that. But if a signer is named, or a rule in pequod.yaml demands one, the
provenance must be signed, too, as 'pequod push --sign-key' does.`,
		Example: `  pequod module verify oci://ghcr.io/acme/web-shop:v1.4.0 --key cosign.pub
  pequod module verify oci-layout:mirror:v1.4.0 --trusted-root trusted_root.json \
    --certificate-oidc-issuer https://token.actions.githubusercontent.com \
    --certificate-identity-regexp '^https://github.com/acme/'

  # Render a bundle again, in a checkout of its repository
  pequod module verify oci://ghcr.io/shop/deploy:1.4.0 --rerender`,
		Args:              cobra.ExactArgs(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args[0]) },
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o.RegistryFlags.AddFlags(cmd)
	o.trustFlags.addFlags(cmd)
	o.LimitFlags.AddFlags(cmd)
	o.flags = cmd.Flags()
	o.flags.BoolVar(&o.again, "rerender", false, "render the instances of a bundle again, and compare the result with the bundle")
	return cmd
}

// run verifies the artifact that arg refers to, and prints what was found.
func (o *verifyOptions) run(ctx context.Context, env command.Env, arg string) error {
	ref, err := oci.ParseRef(arg)
	if err != nil {
		return err
	}
	signers, err := o.trust(ctx)
	if err != nil {
		return err
	}
	demands, err := o.demands(ref, signers)
	if err != nil {
		return err
	}
	client, err := o.Client()
	if err != nil {
		return err
	}
	img, err := client.Image(ctx, ref)
	if err != nil {
		return transform.Refused(err)
	}
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	ref.Digest = digest.String()
	var b strings.Builder
	line(&b, "Digest", ref.Digest)
	if len(demands) > 0 {
		statements, err := trust.New(nil, nil).Verify(ctx, client, ref, demands)
		if err != nil {
			return err
		}
		for _, s := range statements {
			line(&b, "Signed by", s.Signer.String())
		}
	}
	if o.again {
		if err := o.rerender(ctx, env, &b, client, ref, img, demands); err != nil {
			return err
		}
	}
	_, err = io.WriteString(env.Out, b.String())
	return command.OutputError(err)
}

// demands returns what the signatures must satisfy: the flags, or else the rules about
// modules. There may be none with --rerender only. signers may be nil.
func (o *verifyOptions) demands(ref oci.Ref, signers *sign.Trust) ([]trust.Rule, error) {
	if signers != nil {
		return []trust.Rule{{Trust: func() (*sign.Trust, error) { return signers, nil }}}, nil
	}
	guard, err := o.Guard()
	if err != nil {
		return nil, err
	}
	var rules []trust.Rule
	if ref.Kind == oci.Registry {
		rules = guard.Demands(trust.Location(ref.Host, ref.Repository))
	}
	if len(rules) == 0 && !o.again {
		return nil, errors.New("no signer; name a key with --key, identities with --trusted-root, or a rule in pequod.yaml; or prove a bundle with --rerender")
	}
	return rules, nil
}
