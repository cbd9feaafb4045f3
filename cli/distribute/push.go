package distribute

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/sign"
)

// newPushCommand returns the command "module push".
func newPushCommand(env command.Env) *cobra.Command {
	var flags platform.Flags
	var keyFile signKey
	var writing bool
	cmd := &cobra.Command{
		Use:   "push DIR REF",
		Short: "Publish a module",
		Long: `Publish the module in a directory, or with embedded:NAME one that is part of the
program. REF has its version as the tag: oci://HOST/REPOSITORY:v1.4.0, or
oci-layout:DIR:v1.4.0 or FILE.oci.tar:v1.4.0 for machines without a network.

The artifact is that of 'cue mod publish', byte for byte, so cue can use the module
too. With source: kind: "self" in cue.mod/module.cue, it has all files of the
directory; with "git", the committed ones, and nothing may be uncommitted. The directory is not
changed without --write-metadata.

What cue.mod/module.cue says in custom: "pequod.io@v0" must be true: if the kinds are
others, or an image of the module is missing, the command refuses and prints what to
write. Without these fields, the module is not evaluated. --write-metadata writes them
before the module is published: it replaces wrong kinds and adds missing images. All else
in the file stays, comments included, in the format of 'cue fmt'. With source: kind: "git",
commit the file and push again.

A version is published once: if it exists with other content, the command refuses. On
success, it prints the reference with the digest, which is the same on every machine.
Credentials are those of Docker, Podman and 'cue login'.`,
		Example: `  pequod module push ./web-shop oci://ghcr.io/acme/web-shop:v1.4.0
  pequod module push ./web-shop dist/web-shop.oci.tar:v1.4.0 --write-metadata
  pequod module push embedded:webservice oci://ghcr.io/acme/webservice:v0.1.0`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := parseVersion(args[1])
			if err != nil {
				return err
			}
			key, err := keyFile.load(cmd.Context(), env)
			if err != nil {
				return err
			}
			client, err := flags.Client()
			if err != nil {
				return err
			}
			return inDirectory(args[0], func(dir string) error {
				if writing {
					if dir != args[0] {
						return fmt.Errorf("--write-metadata requires a directory, not %s", args[0])
					}
					if err := writeMetadata(cmd.Context(), env, &flags, dir); err != nil {
						return err
					}
				}
				return push(cmd.Context(), env, client, &flags, dir, ref, key)
			})
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 && strings.HasPrefix(toComplete, "e") {
				return platform.CompletePlatforms(cmd, args, toComplete)
			}
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	flags.ModuleFlags.AddFlags(cmd)
	flags.Unlock()
	keyFile.addFlag(cmd)
	cmd.Flags().BoolVar(&writing, "write-metadata", false, "write the kinds and images of the module into cue.mod/module.cue first")
	return cmd
}

// inDirectory calls use with a directory that has the module of an argument: the argument
// itself, or a temporary directory with the files of an embedded module.
func inDirectory(arg string, use func(dir string) error) error {
	name, ok := strings.CutPrefix(arg, "embedded:")
	if !ok {
		return use(arg)
	}
	files, err := modules.EmbeddedSource(name)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "pequod-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // an error would only leave files in a temporary directory
	if err := os.CopyFS(dir, files); err != nil {
		return err
	}
	return use(dir)
}

// push publishes the module in dir as ref, and signs it unless key is nil.
func push(ctx context.Context, env command.Env, client *oci.Client, flags *platform.Flags, dir string, ref oci.Ref, key *sign.PrivateKey) error {
	img, info, err := artifact.Pack(ctx, dir, ref.Tag)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return refused(err)
	}
	if err := checkMetadata(ctx, flags, dir, info.Metadata); isMetadataError(err) {
		return refused(err)
	} else if err != nil {
		return err
	}
	done := "published"
	exists, err := published(ctx, client, ref, info.Digest)
	if err != nil {
		return err
	}
	if exists {
		done = "unchanged:"
	}
	var signature v1.Image
	if key != nil {
		pinned := ref
		pinned.Digest = info.Digest
		if signature, err = signatureOf(ctx, client, pinned, img, key); err != nil {
			return err
		}
	}
	if err := publish(ctx, client, ref, img, nil, signature, exists); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "cue.mod", "local-module.cue")); err == nil {
		fmt.Fprintln(env.Err, "note: cue.mod/local-module.cue is not published: it only affects the directory")
	}
	fmt.Fprintf(env.Err, "%s %s %s, %s\n", done, info.Path, ref.Tag, sizeText(info.Size))
	if key != nil {
		if err := noteSigned(env, key, signature); err != nil {
			return err
		}
	}
	return printPinned(env, ref, info)
}

// published reports whether a version exists with the given digest. It refuses a version
// that exists with another one: what others use must not change.
func published(ctx context.Context, client *oci.Client, ref oci.Ref, digest string) (bool, error) {
	img, err := client.Image(ctx, ref)
	if oci.Causes(err, oci.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	got, err := img.Digest()
	if err != nil {
		return false, err
	}
	if got.String() != digest {
		return false, refused(fmt.Errorf("%s: exists with digest %s, and the directory has %s; publish another version", ref, got, digest))
	}
	return true, nil
}

// write writes the artifact. Layouts are made with all parent directories.
func write(ctx context.Context, client *oci.Client, ref oci.Ref, img v1.Image) error {
	if err := makeParent(ref); err != nil {
		return err
	}
	return client.Write(ctx, ref, img)
}

// makeParent makes the directory of an archive.
func makeParent(ref oci.Ref) error {
	if ref.Kind != oci.Archive {
		return nil
	}
	return os.MkdirAll(filepath.Dir(ref.File), 0o755)
}

// printPinned prints the reference of a module with its digest.
func printPinned(env command.Env, ref oci.Ref, info *artifact.Info) error {
	ref.Digest = info.Digest
	_, err := fmt.Fprintln(env.Out, ref)
	return command.OutputError(err)
}

// sizeText returns a size in bytes for people.
func sizeText(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
