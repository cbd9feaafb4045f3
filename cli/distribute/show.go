package distribute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/crd"
	"github.com/pequod-io/pequod/modules/modpath"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/render"
)

// newShowCommand returns the command "module show".
func newShowCommand(env command.Env) *cobra.Command {
	var flags platform.Flags
	cmd := &cobra.Command{
		Use:   "show REF",
		Short: "Show the kind, the inputs and the documentation of a module",
		Long: `Show what a module offers: its kind and versions, its inputs with types and defaults,
the images that its author lists, or those of sample instances, and its README.md. Published modules also have
a digest, a commit, and the other published versions.

REF is any reference to a module that -p takes, and DIR without a dot is one too. The
module need not be in pequod.lock, unless --locked is given.`,
		Example: `  pequod module show oci://ghcr.io/acme/web-shop:v1.4.0
  pequod module show embedded:webservice`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), env, &flags, args[0])
		},
		ValidArgsFunction: platform.CompletePlatforms,
	}
	flags.ModuleFlags.AddFlags(cmd)
	flags.Unlock()
	return cmd
}

// show prints the description of the module that arg refers to.
func show(ctx context.Context, env command.Env, flags *platform.Flags, arg string) error {
	ref, err := modules.ParseRef(arg)
	if err != nil {
		return err
	}
	files, err := flags.Modules.Open(ctx, ref, modules.Place{})
	if err != nil {
		return transform.Refused(err)
	}
	flags.Platforms = []string{arg}
	catalog, err := flags.LoadPlatforms(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	if v, err := modpath.ParseRef(ref.Ref); ref.Type == v1alpha1.CueRefOCI && err == nil {
		line(&b, "Module", v.Path())
		line(&b, "Version", files.Version)
	} else if ref.Type == v1alpha1.CueRefOCI {
		if err := describeArtifact(ctx, &b, flags, ref.Ref); err != nil {
			return err
		}
	}
	// The text has a line of images if the author lists them.
	if !strings.Contains("\n"+b.String(), "\nImages:") {
		images, err := imagesOf(ctx, flags, catalog.Given)
		if err != nil {
			return err
		}
		line(&b, "Images", strings.Join(images, ", "))
	}
	width := style.TerminalWidth(env.Out)
	for _, p := range catalog.Given {
		if err := describePlatform(&b, p, width); err != nil {
			return err
		}
	}
	if err := readme(&b, files); err != nil {
		return err
	}
	_, err = io.WriteString(env.Out, b.String())
	return command.OutputError(err)
}

// line writes a line with a name and a value, unless the value is empty.
func line(b *strings.Builder, name, value string) {
	if value != "" {
		fmt.Fprintf(b, "%-10s %s\n", name+":", source.Escape(value, ""))
	}
}

// describeArtifact writes what is known about a published module without evaluation.
func describeArtifact(ctx context.Context, b *strings.Builder, flags *platform.Flags, arg string) error {
	ref, err := oci.ParseRef(arg)
	if err != nil {
		return err
	}
	client, err := flags.Client()
	if err != nil {
		return err
	}
	artifacts, err := flags.Modules.Options.Artifacts()
	if err != nil {
		return err
	}
	img, err := artifacts.Image(ctx, ref)
	if err != nil {
		return err
	}
	info, err := artifact.Inspect(img)
	if err != nil {
		return oci.About(ref, err)
	}
	line(b, "Module", info.Path)
	line(b, "Version", ref.Tag)
	line(b, "Digest", info.Digest)
	line(b, "Commit", strings.TrimSpace(info.Commit+" "+info.CommitTime))
	if m := info.Metadata; m != nil {
		line(b, "About", m.Description)
		line(b, "Pequod", m.MinimumPequod)
		line(b, "Images", strings.Join(m.Images, ", "))
	}
	// A registry need not let its tags be listed.
	if published, err := versions(ctx, client, ref.Place(), false); err == nil {
		var names []string
		for _, e := range published {
			names = append(names, e.Version)
		}
		line(b, "Published", strings.Join(names, ", "))
	}
	return ctx.Err()
}

// describePlatform writes the kind of a platform and the inputs of its stored version.
func describePlatform(b *strings.Builder, p *render.Platform, width int) error {
	line(b, "Kind", p.GroupKind())
	line(b, "Versions", strings.Join(p.Served(), ", "))
	made, err := crd.Generate(p)
	if err != nil {
		return err
	}
	for _, v := range made.CRD.Spec.Versions {
		if !v.Storage || v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		if rows := inputs(v.Schema.OpenAPIV3Schema.Properties["spec"]); len(rows) > 0 {
			b.WriteString("\n" + style.Table([]string{"INPUT", "TYPE", "DEFAULT", "DESCRIPTION"}, rows, width))
		}
	}
	return nil
}

// readmeFile is the documentation of a module, beside its package or at its root.
const readmeFile = "README.md"

// readme writes the documentation of a module, if it has some.
func readme(b *strings.Builder, files *modules.Files) error {
	for _, name := range []string{strings.TrimPrefix(files.Dir+"/"+readmeFile, "./"), readmeFile} {
		data, err := fs.ReadFile(files.FS, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		text := strings.TrimRight(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
		b.WriteString("\n" + source.Escape(text, "\n\t") + "\n")
		return nil
	}
	return nil
}
