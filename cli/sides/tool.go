package sides

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/internal/version"
	"github.com/pequod-io/pequod/review"
)

// maxToolMessage is the largest number of characters of what another program says.
const maxToolMessage = 300

// RenderWithTool returns the side that another version of the program makes of the instances
// that head has rendered. head must have its units. What is no instance, or not valid, is the
// same on both sides. If the program can't render all of the instances, it says nothing
// about any of them, and all are unknown.
func RenderWithTool(ctx context.Context, program string, flags *input.RenderFlags, head *Side) (*Side, error) {
	s := &Side{Tree: review.Tree{Side: review.Side{Name: "working tree"}}, Checkout: &Checkout{}, flags: flags, catalog: head.catalog, policies: head.policies}
	out, err := runTool(ctx, program, "version")
	if err != nil {
		return nil, fmt.Errorf("--tool: %w", err)
	}
	s.Tool, _, _ = strings.Cut(strings.TrimSpace(string(out)), " (")
	head.Tool = "pequod " + version.Program()
	if s.Tool == head.Tool { // two builds without a version
		s.Tool += " (" + program + ")"
	}
	args := []string{"render", "-o", "yaml", "--namespace", flags.Namespace}
	rendered, files := s.split(head)
	for _, file := range files {
		args = append(args, "-f", file)
	}
	for _, p := range flags.Platforms {
		args = append(args, "-p", p)
	}
	for _, p := range flags.Policies {
		args = append(args, "--policy", p)
	}
	if flags.AllowSecrets {
		args = append(args, "--allow-secrets")
	}
	if len(rendered) == 0 {
		return s, nil
	}
	if out, err = runTool(ctx, program, args...); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.failAll(s.Tool, err)
		return s, nil
	}
	if err := s.addGraphs(out, rendered); err != nil {
		s.failAll(s.Tool, err)
	}
	return s, nil
}

// split adds to s the units of head that another program can't render, and returns the others
// with their files. Commands take whole files, and fail for a document that is no instance.
func (s *Side) split(head *Side) (rendered []*review.Unit, files []string) {
	mixed := map[string]bool{}
	for _, u := range head.Units {
		if u.Graph == nil {
			mixed[u.File] = true
		}
	}
	for i := range head.Units {
		u := &head.Units[i]
		switch {
		case u.Graph == nil:
			s.Units = append(s.Units, *u)
		case mixed[u.File]:
			was := *u
			was.Problems = problem.List{{Rule: problem.RuleUnchecked, Position: u.At, Message: "its file has other documents as well, which " + s.Tool + " doesn't render"}}
			s.Units = append(s.Units, was)
		default:
			rendered = append(rendered, u)
			if !slices.Contains(files, u.File) {
				files = append(files, u.File)
			}
		}
	}
	return rendered, files
}

// addGraphs adds the units of the graphs in the output of a program.
func (s *Side) addGraphs(out []byte, rendered []*review.Unit) error {
	graphs := map[string]*v1alpha1.ResourceGraph{}
	for doc, ps := range yamlfile.Objects(s.Tool, out) {
		if ps.Failed() {
			return ps
		}
		rg := &v1alpha1.ResourceGraph{}
		if err := doc.Decode(rg); err != nil {
			return err
		}
		graphs[rg.Namespace+"/"+rg.Name] = rg
	}
	for _, u := range rendered {
		was := *u
		// The name of a graph is part of its contract: it never changes.
		was.Graph = graphs[u.Graph.Namespace+"/"+u.Graph.Name]
		if was.Graph == nil {
			was.Problems = problem.List{{Rule: problem.RuleGraph, Message: fmt.Sprintf("%s renders no graph %s/%s", s.Tool, u.Graph.Namespace, u.Graph.Name)}}
		}
		s.Units = append(s.Units, was)
	}
	return nil
}

// runTool runs a program and returns its output. The error has what it says on stderr.
func runTool(ctx context.Context, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("%s %s: %w: %s", program, args[0], err, source.OneLine(stderr.String(), maxToolMessage))
	}
	return out, err
}
