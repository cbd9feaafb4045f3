package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/objectdiff"
	"github.com/pequod-io/pequod/render"
)

// diffFormats are the formats of diff.
var diffFormats = []string{"text", "json", "markdown"}

// commentSize is how long a comment on a pull request may be, in characters:
// GitHub takes 65,536, and somebody may want to add a line.
const commentSize = 60_000

type diffOptions struct {
	renderFlags
	output  string
	maxSize int
	impact  bool
	against []string
}

func newDiff(s streams) *cobra.Command {
	o := &diffOptions{}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare two sets of objects, or what two modules make of instances",
		Long: `Compare two sets of objects, offline: which are added, changed and removed, field
by field, with a warning of what can't be changed in place and what is lost.

OLD and NEW are files, directories, or REV:PATH for either in a git revision.
They hold manifests, ResourceGraphs, or both. A ResourceGraph stands for the
objects of its nodes and for its own settings; what changes nothing in the
cluster, such as the digest of its module, makes no difference. Objects are
compared by group, kind, namespace and name. Values of Secrets are shown as ***.

With --impact, instances are rendered with the platforms of --against and with
those of -p, and compared: which instances a change of a module touches and how,
and which no longer validate. Instances that change alike are shown once.

The exit code is 1 if there are differences.`,
		Example: `  # What a pull request changes
  pequod diff main:manifests manifests
  pequod diff main:manifests manifests -o markdown > comment.md

  # What a new version of a module does to everybody
  pequod diff --impact -p ./webservice --against ../main/webservice -f apps/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(args); err != nil {
				return err
			}
			if o.impact {
				return o.runImpact(cmd.Context(), s)
			}
			return o.run(cmd.Context(), s, args[0], args[1])
		},
	}
	o.renderFlags.add(cmd)
	fl := cmd.Flags()
	fl.StringVarP(&o.output, "output", "o", "text", "output format: "+strings.Join(diffFormats, ", "))
	fl.IntVar(&o.maxSize, "max-size", commentSize, "cut markdown to this many characters; 0 means never")
	fl.BoolVar(&o.impact, "impact", false, "compare what the platforms of -p and --against make of the instances of -f")
	fl.StringArrayVar(&o.against, "against", nil, "with --impact, platform to compare with, as in -p; repeatable")
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(diffFormats, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("against", completePlatforms))
	return cmd
}

func (o *diffOptions) validate(args []string) error {
	if err := oneOf("--output", o.output, diffFormats); err != nil {
		return err
	}
	switch {
	case o.maxSize < 0:
		return errors.New("--max-size: must not be negative")
	case o.impact && len(args) > 0:
		return fmt.Errorf("diff --impact takes no arguments; it compares -p with --against, for the instances of -f")
	case o.impact && (len(o.platforms) == 0 || len(o.against) == 0):
		return errors.New("diff --impact compares platforms: name the new with -p and the old with --against")
	case !o.impact && len(o.against) > 0:
		return errors.New("--against goes with --impact")
	case !o.impact && len(args) != 2:
		return fmt.Errorf("diff takes two arguments, OLD and NEW, not %d", len(args))
	}
	return nil
}

func (o *diffOptions) run(ctx context.Context, s streams, oldArg, newArg string) error {
	before, err := readObjects(ctx, oldArg)
	if err != nil {
		return err
	}
	after, err := readObjects(ctx, newArg)
	if err != nil {
		return err
	}
	d := objectdiff.Compare(before, after)
	if err := o.write(s.out, d); err != nil {
		return outputError(err)
	}
	if len(d.Objects) > 0 {
		return saidError{exitNo}
	}
	return nil
}

func (o *diffOptions) write(w io.Writer, d objectdiff.Diff) error {
	switch o.output {
	case "json":
		return objectdiff.WriteJSON(w, d)
	case "markdown":
		return objectdiff.WriteMarkdown(w, d, o.maxSize)
	}
	return objectdiff.WriteText(w, d, colored(w))
}

// readObjects reads the objects that an argument names. Everything in a tree must
// be an object, and stand there once: a comparison that passes something over
// would call it unchanged.
func readObjects(ctx context.Context, arg string) ([]objectdiff.Object, error) {
	files, err := readTree(ctx, arg)
	if err != nil {
		return nil, err
	}
	var all []objectdiff.Object
	var problems render.Problems
	first := map[objectdiff.Key]render.Pos{}
	for _, file := range files {
		docs, err := render.Documents(file.name, file.data)
		if err != nil {
			var ps render.Problems
			if !errors.As(err, &ps) {
				return nil, err
			}
			problems = append(problems, ps...)
			continue
		}
		for _, doc := range docs {
			objects, err := documentObjects(doc, file.name)
			if err != nil {
				problems = append(problems, problemsOf(err)...)
				continue
			}
			for _, obj := range objects {
				if at, ok := first[obj.Key]; ok {
					problems = append(problems, render.Problem{
						Pos: doc.PosOf(nil), Rule: render.RuleDuplicate,
						Message: fmt.Sprintf("%s stands at %s already", obj, at),
					})
					continue
				}
				first[obj.Key] = doc.PosOf(nil)
				all = append(all, obj)
			}
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return all, nil
}

// documentObjects reads the objects of one document.
func documentObjects(doc render.Document, file string) ([]objectdiff.Object, error) {
	gv, kind := doc.Text("apiVersion"), doc.Text("kind")
	if gv == v1alpha1.GroupVersion.String() && kind == "ResourceGraph" {
		rg := &v1alpha1.ResourceGraph{}
		if err := doc.Decode(rg); err != nil {
			return nil, err
		}
		if found := graph.Read(rg).Problems(); len(found) > 0 {
			return nil, graphProblems(doc, found)
		}
		objects, err := objectdiff.FromGraph(rg, file)
		if err != nil {
			return nil, doc.Problem(err)
		}
		return objects, nil
	}
	var raw json.RawMessage
	if err := doc.Decode(&raw); err != nil {
		return nil, err
	}
	var v any
	if err := utiljson.Unmarshal(raw, &v); err != nil {
		return nil, doc.Problem(err)
	}
	manifest, _ := v.(map[string]any)
	objects, err := objectdiff.FromManifest(manifest, file)
	if err != nil {
		return nil, doc.Problem(err)
	}
	return objects, nil
}

// graphProblems places what is wrong with a graph where the graph begins.
func graphProblems(doc render.Document, found []graph.Problem) render.Problems {
	var ps render.Problems
	for _, p := range found {
		path := p.Path
		if p.Node != "" {
			path = strings.TrimSuffix("nodes."+p.Node+"."+p.Path, ".")
		}
		ps = append(ps, render.Problem{Pos: doc.PosOf(nil), Path: path, Rule: render.RuleGraph, Message: p.Message, Hint: p.Hint})
	}
	return ps
}
