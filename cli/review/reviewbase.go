package review

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/settings"
	"github.com/pequod-io/pequod/cli/sides"
	"github.com/pequod-io/pequod/internal/gitfs"
	"github.com/pequod-io/pequod/review"
)

// baseFiles are the files of the base, and the flags to render them with.
type baseFiles struct {
	// checkout is the zero Checkout if another program renders the base.
	checkout *sides.Checkout
	name     review.Side
	flags    *input.RenderFlags
	// failed is why there are no flags.
	failed error
}

// openBase opens the merge base. An error means that there is no base.
func (o *reviewOptions) openBase(ctx context.Context, cmd *cobra.Command, env command.Env) (*baseFiles, error) {
	if o.tool != "" {
		return &baseFiles{checkout: &sides.Checkout{}}, nil
	}
	if _, err := gitfs.Locate(ctx); err != nil {
		return nil, err // not for a missing branch where there is no repository
	}
	rev := o.base
	if rev == "" {
		var err error
		if rev, err = gitfs.DefaultBranch(ctx); err != nil {
			return nil, fmt.Errorf("%w; or name the base with --base", err)
		}
	}
	commit, err := gitfs.MergeBase(ctx, rev)
	if err != nil {
		return nil, err
	}
	b := &baseFiles{}
	if b.checkout, err = sides.Open(ctx, commit); err != nil {
		return nil, err
	}
	b.name = review.Side{Name: fmt.Sprintf("merge base %s of %s", b.checkout.Name, rev), Revision: commit}
	b.flags, b.failed = o.flagsOf(cmd, env, b.checkout)
	return b, nil
}

// renderBase renders the base with its own settings. Everything that is wrong in the
// base is part of the result.
func (o *reviewOptions) renderBase(ctx context.Context, cmd *cobra.Command, env command.Env, b *baseFiles, head *sides.Side) (*sides.Side, error) {
	if b.failed != nil {
		return sides.Failed(b.checkout, b.name, &o.RenderFlags, "pequod.yaml", b.failed), nil
	}
	if o.baseOutput != "" {
		head = nil
	}
	base, err := sides.Render(ctx, env, b.flags, b.checkout, b.name, head)
	if err != nil {
		return nil, err
	}
	if len(base.Failures) > 0 && o.baseOutput == "" {
		env.Dir = b.checkout.Dir()
		base.HintOutput(outputDir(cmd, env))
	}
	return base, nil
}

// outputDir returns the directory in which the repository keeps its graphs: that of render in
// pequod.yaml. It is "" if there is none, or if it has plain manifests.
func outputDir(cmd *cobra.Command, env command.Env) string {
	render := newRenderCommand(env)
	root := &cobra.Command{Use: cmd.Root().Name()}
	root.AddCommand(render)
	layers, err := settings.Load(cmd.Root(), env)
	if err != nil {
		return "" // of the base; the command itself has read those of the head
	}
	if _, err := layers.Resolve(render); err != nil || render.Flags().Lookup("format").Value.String() != "graph" {
		return ""
	}
	return render.Flags().Lookup("output-dir").Value.String()
}

// checkOutput records whether committed output of the head is what its files render. Output
// that git doesn't track is not committed.
func checkOutput(ctx context.Context, cmd *cobra.Command, env command.Env, r *review.Report, base, head *sides.Side) error {
	dir := outputDir(cmd, env)
	if dir == "" {
		return nil
	}
	if tracked, err := gitfs.Tracks(ctx, dir); err != nil || !tracked {
		return ctx.Err() // a directory outside of the repository is not committed either
	}
	if stale := head.CheckOutput(ctx, dir, base); stale != nil {
		r.SetStale(stale)
	}
	return ctx.Err()
}

// flagsOf returns the flags of this command as they apply in a checkout: those of the command
// line and of the environment, and the settings of the checkout's own pequod.yaml. Paths
// in the repository lead to the same files of the checkout, also if they were renamed, which are then there
// to be read. Those that the commit doesn't have are left out: an instance in such a file is new.
func (o *reviewOptions) flagsOf(cmd *cobra.Command, env command.Env, checkout *sides.Checkout) (*input.RenderFlags, error) {
	other := &reviewOptions{}
	twin := &cobra.Command{Use: cmd.Name()}
	other.addFlags(twin)
	twin.SetContext(cmd.Context())
	twin.SetErr(env.Err)
	root := &cobra.Command{Use: cmd.Root().Name()}
	root.AddCommand(twin)
	var failed error
	// Flags that settings filled in count as unchanged.
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if to := twin.Flags().Lookup(f.Name); to != nil && failed == nil {
			failed = setFlag(to, f)
			to.Changed = true
		}
	})
	if failed != nil {
		return nil, failed
	}
	env.Dir = checkout.Dir()
	layers, err := settings.Load(cmd.Root(), env)
	if err != nil {
		return nil, err
	}
	if _, err := layers.Resolve(twin); err != nil {
		return nil, err
	}
	other.SettingsDir = checkout.Dir()
	if o.baseOutput != "" {
		other.Platforms, other.Policies = nil, nil // nothing is rendered
	}
	recursive, err := twin.Flags().GetBool("recursive")
	if err != nil {
		return nil, err
	}
	other.Modules.Options.Fill = checkout.Fill
	for _, list := range []struct {
		values *[]string
		fill   func(path string) error
	}{
		{&other.Filenames, func(path string) error { return checkout.FillInput(path, recursive) }},
		{&other.ForEach, func(path string) error { return checkout.FillInput(path, true) }},
		{&other.Platforms, checkout.Fill},
		{&other.Policies, checkout.Fill},
	} {
		if *list.values, err = moved(cmd.Context(), *list.values, checkout, list.fill); err != nil {
			return nil, err
		}
	}
	return &other.RenderFlags, nil
}

// moved returns paths in a checkout, and calls fill with each of them. Those that the commit doesn't have lead to
// the files that were renamed into them, and are left out if there are none.
func moved(ctx context.Context, values []string, checkout *sides.Checkout, fill func(path string) error) ([]string, error) {
	var there []string
	for _, v := range values {
		if path, ok := checkout.Path(v); ok {
			there = append(there, path)
			continue
		}
		renamed, err := checkout.Renamed(ctx, v)
		if err != nil {
			return nil, err
		}
		there = append(there, renamed...)
	}
	for _, path := range there {
		if err := fill(path); err != nil {
			return nil, err
		}
	}
	return there, nil
}

// setFlag sets a flag to the value of another one.
func setFlag(to, from *pflag.Flag) error {
	if list, ok := from.Value.(pflag.SliceValue); ok {
		return to.Value.(pflag.SliceValue).Replace(slices.Clone(list.GetSlice()))
	}
	return to.Value.Set(from.Value.String())
}

// replaceFile writes a file as a whole or not at all.
func replaceFile(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return command.FileError(err)
	}
	w := bufio.NewWriter(f)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(command.FileError(err), os.Remove(f.Name()))
	}
	return nil
}
