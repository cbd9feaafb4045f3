package distribute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/generate"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/internal/gitfs"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/modules/bundle"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/provenance"
	"github.com/pequod-io/pequod/modules/sign"
)

// pushOptions are the flags of push.
type pushOptions struct {
	// RenderFlags select the instances, their platforms, and the registries of both
	// modules and bundles.
	input.RenderFlags
	// InstanceFlags are --format and --annotate.
	generate.InstanceFlags
	// RoleFlags have an effect with --rbac only.
	generate.RoleFlags
	// withCRDs, withRoles and withTransforms are --crds, --rbac and --transforms.
	withCRDs, withRoles, withTransforms bool
	// revision and source replace those of the repository.
	revision, source string
	// allowDirty is consent to uncommitted changes, force to the replacement of an
	// artifact.
	allowDirty, force bool
	// keyFile is --sign-key, and key the key in it or nil.
	keyFile signKey
	key     *sign.PrivateKey
	// dryRun is one of execute.DryRunModes.
	dryRun string
	// withProvenance is --provenance.
	withProvenance bool
	// flags are all flags, for the provenance.
	flags *pflag.FlagSet
	// digests are those of the modules of the instances, by reference. Rendering sets it.
	digests map[string]string
}

// newBundlePushCommand returns the command "push".
func newBundlePushCommand(env command.Env) *cobra.Command {
	cmd, _ := newPush(env)
	return cmd
}

// newPush returns the command "push" and its flags.
func newPush(env command.Env) (*cobra.Command, *pushOptions) {
	o := &pushOptions{}
	cmd := &cobra.Command{
		Use:   "push REF -f FILENAME",
		Short: "Render instances to a bundle in a registry, for Flux and Argo CD",
		Long: `Render instances, and write the ResourceGraphs or plain manifests to a registry as a
bundle: an OCI artifact that Flux (OCIRepository) and Argo CD read instead of a directory
in git.

REF is oci://HOST/REPOSITORY:TAG, oci-layout:DIR[:TAG] or FILE.oci.tar[:TAG]. Tags of
bundles are versions without a v, such as 1.4.0.

A bundle has the directory graphs, or resources with --format resources, with the files of
'pequod render --output-dir'. --crds adds crds, the output of 'pequod crd generate' for
the platforms of -p; --rbac adds rbac, the roles of 'pequod rbac generate', and refuses
the same rights; --transforms adds transforms, the Transforms in the files of -p, with the
ConfigMaps beside them that have their modules. Each directory has a kustomization.yaml, and
so has the root. Nothing is written unless all of
it can be rendered and no policy is violated.

The same input makes the same digest on every machine. The bundle names the commit that is
checked out: its time, revision and origin, without credentials. SOURCE_DATE_EPOCH sets
another time. Uncommitted changes are refused unless --allow-dirty is set, which marks the
revision.

A statement of provenance is attached to the bundle. It names the commit, the digests of all
modules, the flags and the version of Pequod, so that 'pequod module verify --rerender' can
make the bundle again. It names no files outside of the repository. With --sign-key, it is
signed, too.

If the tag exists, nothing is written: the exit code is 0 if it names the same bundle, and
1 if it names another one. Use --force to replace it, as 'crane push' and 'flux push
artifact' always do. Consumers that have resolved the tag before may keep the old one.

The reference with its digest is printed on stdout. With --dry-run, the files of the
bundle are printed, too, and nothing is written.`,
		Example: `  # Release the graphs of a repository, with their roles
  pequod push oci://ghcr.io/shop/deploy:1.4.0 -f apps/ -p platforms/ --rbac

  # List the files of the bundle
  pequod push oci://ghcr.io/shop/deploy:1.4.0 -f apps/ --dry-run=client

  # Plain manifests for Argo CD, in a file
  pequod push deploy.oci.tar:1.4.0 -f apps/ --format resources --annotate argocd`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args[0]) },
	}
	o.RenderFlags.AddFlags(cmd)
	o.InstanceFlags.AddFlags(cmd)
	o.RoleFlags.AddFlags(cmd)
	o.keyFile.addFlag(cmd)
	fl := cmd.Flags()
	o.flags = fl
	fl.Lookup("crd").Usage = "with --rbac, " + fl.Lookup("crd").Usage
	fl.BoolVar(&o.withCRDs, "crds", false, "add the CRDs of the platforms of -p")
	fl.BoolVar(&o.withRoles, "rbac", false, "add the roles for the service accounts of the graphs")
	fl.BoolVar(&o.withTransforms, "transforms", false, "add the Transforms in the files of -p")
	fl.StringVar(&o.revision, "revision", "", "revision of the input; the default is the commit that is checked out, such as main@sha1:HEX")
	fl.StringVar(&o.source, "source", "", "address of the repository of the input; the default is that of the remote origin")
	fl.BoolVar(&o.allowDirty, "allow-dirty", false, "allow uncommitted changes")
	fl.BoolVar(&o.withProvenance, "provenance", true, "attach a statement of the commit, the modules and the flags that the bundle is made from")
	fl.BoolVar(&o.force, "force", false, "replace another artifact with the tag")
	command.Choice(cmd, &o.dryRun, "dry-run", "", "none", execute.DryRunModes, "list the files without writing them: server (ask the registry about the tag) or client (ask nothing)")
	for _, name := range []string{"revision", "source"} {
		command.Must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	return cmd, o
}

// run makes the bundle and writes it, after everything that can fail without a
// registry.
func (o *pushOptions) run(ctx context.Context, env command.Env, arg string) error {
	ref, err := o.target(arg)
	if err != nil {
		return err
	}
	if o.key, err = o.keyFile.load(ctx, env); err != nil {
		return err
	}
	commit, err := o.commit(ctx)
	if err != nil {
		return err
	}
	origin, err := o.origin(env, commit)
	if err != nil {
		return err
	}
	parts, err := o.parts(ctx, env)
	if err != nil {
		return err
	}
	img, err := bundle.New(parts, origin)
	if err != nil {
		return err
	}
	made, err := o.build(commit)
	if err != nil {
		return err
	}
	return o.write(ctx, env, ref, img, made)
}

// target parses the reference to write to, and checks the flags. A registry knows
// artifacts by tags; the digest is that of the content.
func (o *pushOptions) target(arg string) (oci.Ref, error) {
	ref, err := oci.ParseRef(arg)
	switch {
	case err != nil:
		return ref, err
	case ref.Digest != "":
		return ref, fmt.Errorf("%s: the digest follows from the content; name the bundle by a tag only", ref)
	case ref.Kind == oci.Registry && ref.Tag == "":
		return ref, fmt.Errorf("%s: no tag; want one like %s:1.4.0", ref, ref)
	case len(o.Platforms) == 0 && o.withCRDs:
		return ref, errors.New("--crds requires platforms; specify Transforms or modules with -p")
	case len(o.Platforms) == 0 && o.withTransforms:
		return ref, errors.New("--transforms requires files of Transforms in -p")
	case o.withRoles && o.Format != "graph":
		return ref, errors.New("--rbac requires --format graph: plain manifests have no service accounts")
	}
	return ref, o.InstanceFlags.Validate()
}

// dirty marks the revision of a bundle with uncommitted changes.
const dirty = "-dirty"

// commit returns the commit from which the bundle is made, or nil if the working
// directory is in no repository.
func (o *pushOptions) commit(ctx context.Context) (*gitfs.Commit, error) {
	commit, err := files.HeadCommit(ctx)
	if err != nil || commit == nil {
		return nil, err
	}
	if commit.Change != "" && !o.allowDirty {
		return nil, refused(fmt.Errorf("uncommitted changes, such as %q; commit them, or set --allow-dirty to mark the bundle", source.Escape(commit.Change, "")))
	}
	return commit, nil
}

// origin returns the origin that the bundle names. commit may be nil.
func (o *pushOptions) origin(env command.Env, commit *gitfs.Commit) (bundle.Options, error) {
	made := bundle.Options{Revision: o.revision, Source: o.source}
	if commit != nil {
		if commit.Change != "" {
			commit.Revision += dirty
		}
		made.Created = commit.Time
		made.Revision = cmp.Or(o.revision, commit.Revision)
		made.Source = cmp.Or(o.source, commit.Source)
	}
	if epoch, set := env.Getenv("SOURCE_DATE_EPOCH"); set && epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil || seconds < 0 {
			return made, fmt.Errorf("SOURCE_DATE_EPOCH %q: want seconds since 1970", epoch)
		}
		made.Created = time.Unix(seconds, 0)
	}
	return made, nil
}

// write writes the bundle unless it is there already, with its provenance, and prints its
// reference. made is nil without provenance.
func (o *pushOptions) write(ctx context.Context, env command.Env, ref oci.Ref, img v1.Image, made *provenance.Build) error {
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	pinned := ref
	pinned.Digest = digest.String()
	if o.dryRun == "client" {
		return printFiles(env, pinned, img)
	}
	client, err := o.Client()
	if err != nil {
		return err
	}
	there, err := o.exists(ctx, client, pinned)
	if err != nil {
		return err
	}
	if o.dryRun == "server" {
		return printFiles(env, pinned, img)
	}
	var statement, signature v1.Image
	if made != nil {
		if statement, err = statementOf(ctx, client, pinned, img, made, o.key); err != nil {
			return err
		}
	}
	if o.key != nil {
		if signature, err = signatureOf(ctx, client, pinned, img, o.key); err != nil {
			return err
		}
	}
	if err := publish(ctx, client, ref, img, statement, signature, there); err != nil {
		return err
	}
	if there {
		fmt.Fprintf(env.Err, "pequod: %s is already there\n", ref)
	}
	if o.key != nil {
		if err := noteSigned(env, o.key, signature); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(env.Out, pinned)
	return command.OutputError(err)
}

// exists reports whether the tag of a reference names the artifact with its digest. It
// is an error if the tag names another one, unless --force is set.
func (o *pushOptions) exists(ctx context.Context, client *oci.Client, pinned oci.Ref) (bool, error) {
	tagged := pinned
	tagged.Digest = ""
	if tagged.Tag == "" {
		return false, nil // a layout may have any number of artifacts without names
	}
	img, err := client.Image(ctx, tagged)
	var what string
	switch {
	case oci.Causes(err, oci.NotFound):
		return false, nil
	case oci.Causes(err, oci.WrongType):
		what = "is no bundle"
	case err != nil:
		return false, err
	default:
		digest, err := img.Digest()
		if err != nil || digest.String() == pinned.Digest {
			return err == nil, err
		}
		what = "has digest " + digest.String()
	}
	if o.force {
		return false, nil
	}
	return false, refused(fmt.Errorf("%s exists and %s, the new bundle has %s; choose another tag, or replace it with --force", tagged, what, pinned.Digest))
}

// printFiles prints the files of a bundle and its reference.
func printFiles(env command.Env, pinned oci.Ref, img v1.Image) error {
	packed, err := bundle.Files(img)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range packed {
		fmt.Fprintln(&b, f.Name)
	}
	_, err = fmt.Fprintf(env.Out, "%s%s\n", b.String(), pinned)
	return command.OutputError(err)
}
