package distribute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/sign"
)

// newSignCommand returns the command "module sign".
func newSignCommand(env command.Env) *cobra.Command {
	var registry platform.RegistryFlags
	var keyFile string
	cmd := &cobra.Command{
		Use:   "sign REF --key FILE",
		Short: "Sign a published module or bundle",
		Long: `Sign a published module, or a bundle of 'pequod push', with a private key. The signature
is for the digest that REF has now, and stands beside it in the same repository or
layout: a Sigstore bundle as cosign 3 writes it, so cosign and Flux verify it, too.

FILE is a key of 'cosign generate-key-pair', or a key in PEM format without a password,
as 'openssl ecparam -name prime256v1 -genkey -noout' writes it. The password is read
from the environment variable COSIGN_PASSWORD.

Nothing is sent to a transparency log: cosign verifies the signature with
--insecure-ignore-tlog. The reference with the digest is printed on stdout.`,
		Example: `  pequod module sign oci://ghcr.io/acme/web-shop:v1.4.0 --key cosign.key`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := oci.ParseRef(args[0])
			if err != nil {
				return err
			}
			key, err := loadKey(cmd.Context(), env, keyFile)
			if err != nil {
				return err
			}
			client, err := registry.Client()
			if err != nil {
				return err
			}
			img, err := client.Image(cmd.Context(), ref)
			if err != nil {
				return err
			}
			if err := signImage(cmd.Context(), env, client, &ref, img, key); err != nil {
				return err
			}
			_, err = fmt.Fprintln(env.Out, ref)
			return command.OutputError(err)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	registry.AddFlags(cmd)
	cmd.Flags().StringVar(&keyFile, "key", "", "private key in PEM format")
	command.Must(cmd.MarkFlagRequired("key"))
	return cmd
}

// signImage signs the artifact that ref names unless it is signed with the key already, and
// sets the digest of ref.
func signImage(ctx context.Context, env command.Env, client *oci.Client, ref *oci.Ref, img v1.Image, key *sign.PrivateKey) error {
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	ref.Digest = digest.String()
	signature, err := signatureOf(ctx, client, *ref, img, key)
	if err != nil {
		return err
	}
	if signature != nil {
		if err := client.Attach(ctx, *ref, signature); err != nil {
			return err
		}
	}
	return noteSigned(env, key, signature)
}

// signatureOf returns the signature of an artifact, or nil if it is signed with the key
// already. pinned has its digest. The artifact need not be written yet.
func signatureOf(ctx context.Context, client *oci.Client, pinned oci.Ref, img v1.Image, key *sign.PrivateKey) (v1.Image, error) {
	trust, err := key.Trust()
	if err != nil {
		return nil, err
	}
	_, err = trust.Find(ctx, client, pinned, sign.SignatureType)
	if err == nil {
		return nil, nil
	}
	// A new layout, or a new repository, has no referrers.
	if untrusted := (*sign.UntrustedError)(nil); !errors.As(err, &untrusted) && !oci.Causes(err, oci.NotFound) {
		return nil, err
	}
	return key.Sign(img, sign.SignatureType, json.RawMessage("{}"))
}

// noteSigned prints who has signed an artifact. signature is nil if it was signed before.
func noteSigned(env command.Env, key *sign.PrivateKey, signature v1.Image) error {
	done := "signed with"
	if signature == nil {
		done = "already signed with"
	}
	_, err := fmt.Fprintf(env.Err, "%s %s\n", done, key.Signer())
	return command.OutputError(err)
}

// signKey is the flag --sign-key of commands that publish.
type signKey struct{ file string }

// addFlag registers the flag with cmd.
func (s *signKey) addFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.file, "sign-key", "", "sign with the private key in this file, as 'pequod module sign' does")
}

// load reads the key. It returns nil without the flag. Commands call it before they
// publish anything.
func (s *signKey) load(ctx context.Context, env command.Env) (*sign.PrivateKey, error) {
	if s.file == "" {
		return nil, nil
	}
	return loadKey(ctx, env, s.file)
}
