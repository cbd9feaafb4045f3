package author

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/report"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/moduleinit"
)

// source returns the source of --from-embedded, --from-manifests or --from-chart. It reads
// the objects of the last two, and prints notes about them to stderr. It returns nil if
// no flag is given.
func (o *moduleInitOptions) source(ctx context.Context, env command.Env, name string) (moduleinit.Source, error) {
	var tree []files.TreeFile
	var err error
	switch {
	case o.embedded != "":
		return moduleinit.Embedded(o.embedded), nil
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
