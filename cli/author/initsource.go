package author

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/modules/moduleinit"
)

// source returns the source of --from-embedded, --from-crd, --from-manifests or --from-chart. It reads
// the objects of the last two, and prints notes about them to stderr. It returns nil if
// no flag is given.
func (o *moduleInitOptions) source(ctx context.Context, env command.Env, name string) (moduleinit.Source, error) {
	var tree []files.TreeFile
	var err error
	switch {
	case o.embedded != "":
		return moduleinit.Embedded(o.embedded), nil
	case o.crd != "":
		return definitionOf(ctx, env, o.crd)
	case o.manifests != "":
		tree, err = files.ReadTree(ctx, o.manifests)
	case o.chart != "":
		// The name becomes an argument of helm.
		if err := moduleinit.CheckName(name); err != nil {
			return nil, err
		}
		tree, err = helmTemplate(ctx, name, o.chart)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &moduleinit.Manifests{}
	var ps problem.List
	for _, file := range tree {
		ps = append(ps, m.Read(file.Name, file.Data)...)
	}
	if ps.Failed() {
		return nil, ps
	}
	if m.Len() == 0 {
		return nil, fmt.Errorf("%s: no objects", o.manifests+o.chart)
	}
	if err := report.Write(env.Err, "text", ps, nil, report.Options{}); err != nil {
		return nil, command.OutputError(err)
	}
	return m, nil
}

// definitionOf returns the source of --from-crd: the only CRD of a file, or a resource type, an object
// without a kind that has the schema of a spec. It prints notes to stderr.
func definitionOf(ctx context.Context, env command.Env, file string) (moduleinit.Source, error) {
	tree, err := files.ReadTree(ctx, file)
	if err != nil {
		return nil, err
	}
	var all []definition
	if len(tree) == 1 {
		all, err = resourceTypes(tree[0])
	}
	if err == nil && len(all) == 0 {
		all, err = definitionsIn(file, tree)
	}
	switch {
	case err != nil:
		return nil, err
	case len(all) > 1:
		return nil, all[1].doc.Problem(errors.New("a second CustomResourceDefinition: a module has one kind"))
	}
	made, err := moduleinit.NewDefinition(all[0].CustomResourceDefinition)
	if err != nil {
		return nil, all[0].doc.Problem(err)
	}
	for _, note := range made.Notes {
		if _, err := fmt.Fprintf(env.Err, "%s: note: %s\n", all[0].doc.Start(), note); err != nil {
			return nil, command.OutputError(err)
		}
	}
	return made, nil
}

// resourceTypes returns the resource type of a file as a CRD, or nothing if it has none.
func resourceTypes(file files.TreeFile) ([]definition, error) {
	docs, err := yamlfile.Parse(file.Name, file.Data)
	if err != nil || len(docs) != 1 || docs[0].Text("kind") != "" {
		return nil, err
	}
	var resource struct {
		Name        string                           `json:"name"`
		Version     string                           `json:"version"`
		Description string                           `json:"description"`
		Schema      *apiextensionsv1.JSONSchemaProps `json:"schema"`
	}
	if err := docs[0].Decode(&resource); err != nil {
		return nil, err
	}
	if resource.Name == "" || resource.Version == "" || resource.Schema == nil {
		return nil, nil
	}
	resource.Schema.Description = cmp.Or(resource.Schema.Description, resource.Description)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Names.Kind = resource.Name
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: resource.Version, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
		OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": *resource.Schema}},
	}}}
	return []definition{{crd, docs[0]}}, nil
}

// helmTemplate returns what `helm template` prints for the chart in a directory, as
// one file. Positions are those of the output, since Helm doesn't tell the positions in
// its templates.
func helmTemplate(ctx context.Context, name, dir string) ([]files.TreeFile, error) {
	// Helm would take other arguments for names of repositories, and download charts.
	info, err := os.Stat(dir)
	if err != nil {
		return nil, command.FileError(err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s: not a directory", filepath.ToSlash(dir))
	}
	cmd := exec.CommandContext(ctx, "helm", "template", "--no-hooks", "--", name, dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	shown := filepath.ToSlash(dir)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("%s: --from-chart requires helm, which is not installed; or save the output of 'helm template' and use --from-manifests", shown)
	case err != nil && strings.TrimSpace(stderr.String()) == "":
		return nil, fmt.Errorf("%s: helm template: %w", shown, err)
	case err != nil:
		message, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("%s: helm template: %s", shown, strings.TrimPrefix(message, "Error: "))
	}
	return []files.TreeFile{{Name: "helm template " + name + " " + shown, Data: out}}, nil
}
