package distribute

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/generate"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/outdir"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/modules/bundle"
	"github.com/pequod-io/pequod/render"
)

// parts returns the directories of the bundle, in the order in which a tool that keeps
// the order applies them: definitions, rights, Transforms, and then what needs them.
func (o *pushOptions) parts(ctx context.Context, env command.Env) ([]bundle.Part, error) {
	if err := o.ReadResources(ctx); err != nil {
		return nil, err
	}
	// Its errors have positions, which those of modules that can't be opened lack.
	transforms, err := o.transformFiles(ctx)
	if err != nil {
		return nil, err
	}
	rendered, graphs, err := o.render(ctx, env)
	if err != nil {
		return nil, err
	}
	crds, err := o.crdFiles(ctx, env)
	if err != nil {
		return nil, err
	}
	roles, err := o.roleFiles(env, graphs)
	if err != nil {
		return nil, err
	}
	name := "graphs"
	if o.Format == "resources" {
		name = "resources"
	}
	return []bundle.Part{{Name: "crds", Files: crds}, {Name: "rbac", Files: roles}, {Name: "transforms", Files: transforms}, {Name: name, Files: rendered}}, nil
}

// render renders all instances, and returns the files of 'pequod render --output-dir'
// and the graphs. It prints problems on stderr.
func (o *pushOptions) render(ctx context.Context, env command.Env) ([]bundle.File, []*v1alpha1.ResourceGraph, error) {
	type result struct {
		objects []output.Object
		graph   *v1alpha1.ResourceGraph
		module  *render.Module
	}
	var rendered []outdir.File
	var graphs []*v1alpha1.ResourceGraph
	o.digests = map[string]string{}
	sum, err := input.RenderAll(ctx, env, &o.RenderFlags, func(r render.Result) (result, problem.List) {
		objects, problems := o.InstanceFlags.Objects(r, "yaml")
		return result{objects, r.Graph, r.Platform.Module}, problems
	}, func(r input.Rendered[result]) error {
		for _, obj := range r.Value.objects {
			rendered = append(rendered, outdir.File{Path: obj.Path, Source: r.Instance.Pos().String(), Data: obj.Data})
		}
		graphs = append(graphs, r.Value.graph)
		o.digests[r.Value.module.Ref] = r.Value.module.Digest
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	sum.Problems = input.UniqueNotes(sum.Problems)
	if err := input.PrintProblems(env.Err, sum); err != nil {
		return nil, nil, err
	}
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case sum.Problems.Failed():
		return nil, nil, command.ExitError{Code: command.ProblemsExitCode(sum.Problems)}
	case len(rendered) == 0:
		return nil, nil, fmt.Errorf("no instances in %s", strings.Join(o.Filenames, ", "))
	}
	packed, err := contents("render", rendered)
	return packed, graphs, err
}

// crdFiles returns the CRDs of --crds, and prints notes about them.
func (o *pushOptions) crdFiles(ctx context.Context, env command.Env) ([]bundle.File, error) {
	if !o.withCRDs {
		return nil, nil
	}
	catalog, err := o.LoadPlatforms(ctx)
	if err != nil {
		return nil, err
	}
	crds, err := generate.CRDs(ctx, o.Limits(), catalog.Given, "yaml")
	if err != nil {
		return nil, err
	}
	var made []outdir.File
	for i, c := range crds {
		made = append(made, outdir.File{Path: c.Path, Source: catalog.Given[i].From, Data: c.Data})
		for _, n := range c.Notes {
			fmt.Fprintf(env.Err, "%v: %s: %s\n", n.Position, n.Path, n.Message)
		}
	}
	return contents("crd generate", made)
}

// roleFiles returns the roles of --rbac, and prints what they grant.
func (o *pushOptions) roleFiles(env command.Env, graphs []*v1alpha1.ResourceGraph) ([]bundle.File, error) {
	if !o.withRoles {
		return nil, nil
	}
	roles, err := o.RoleFlags.Generate(graphs)
	if err != nil {
		return nil, err
	}
	for _, line := range slices.Concat(roles.Notes, roles.Escalations, roles.Summary) {
		fmt.Fprintln(env.Err, "pequod: "+source.Escape(line, ""))
	}
	objects, err := generate.Roles(roles, "yaml")
	if err != nil {
		return nil, err
	}
	var made []outdir.File
	for _, obj := range objects {
		made = append(made, outdir.File{Path: obj.Path, Source: obj.Key, Data: obj.Data})
	}
	return contents("rbac generate", made)
}

// transformFiles returns the Transforms of --transforms.
func (o *pushOptions) transformFiles(ctx context.Context) ([]bundle.File, error) {
	if !o.withTransforms {
		return nil, nil
	}
	objects, err := o.Transforms(ctx)
	if err != nil {
		return nil, err
	}
	var packed []bundle.File
	for _, obj := range objects {
		packed = append(packed, bundle.File{Name: obj.Path, Data: obj.Data})
	}
	return packed, nil
}

// contents returns the files as a command writes them to a directory.
func contents(owner string, made []outdir.File) ([]bundle.File, error) {
	written, err := outdir.Contents(owner, made)
	if err != nil {
		return nil, err
	}
	var packed []bundle.File
	for _, f := range written {
		packed = append(packed, bundle.File{Name: f.Path, Data: f.Data})
	}
	return packed, nil
}
