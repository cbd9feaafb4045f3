package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/outdir"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/render/manifests"
)

// InstanceFlags are the flags that decide about the form of rendered instances.
type InstanceFlags struct {
	// Format is "graph", the default, for ResourceGraphs, or "resources" for the
	// manifests of their nodes.
	Format string
	// Annotate is the GitOps tool that applies the manifests: argocd or flux. ""
	// adds no annotations. It requires format resources.
	Annotate string
}

// AddFlags registers the flags with cmd.
func (f *InstanceFlags) AddFlags(cmd *cobra.Command) {
	command.Choice(cmd, &f.Format, "format", "", "graph", []string{"graph", "resources"}, "type of the output: graph (ResourceGraphs) or resources (plain manifests)")
	command.Choice(cmd, &f.Annotate, "annotate", "", "", []string{"argocd", "flux"}, "with --format resources, add the annotations of a GitOps tool: argocd or flux")
}

// Validate returns an error for combinations that have no effect.
func (f *InstanceFlags) Validate() error {
	if f.Annotate != "" && f.Format != "resources" {
		return fmt.Errorf("--annotate requires --format resources")
	}
	return nil
}

// Objects returns the encoded objects of one rendered instance: its ResourceGraph, or
// its manifests. encoding is one of [output.Formats]. Several goroutines may call it at
// once. A graph with features that plain manifests can't express is a problem of the
// instance.
func (f *InstanceFlags) Objects(r render.Result, encoding string) ([]output.Object, problem.List) {
	if f.Format == "graph" {
		g := r.Graph
		obj, err := object(encoding, "platform.pequod.io", g.Kind, g.Namespace, g.Name, g)
		if err != nil {
			return nil, problem.List{{Position: r.Instance.Pos(), Rule: problem.RuleGraph, Message: err.Error()}}
		}
		obj.Private = hasSecretData(g)
		obj.Keep = func(content []byte) bool { return differsInDigest(content, obj.Data) }
		return []output.Object{obj}, nil
	}
	plain, refused := manifests.Plain(r.Graph, manifests.Tool(f.Annotate))
	if len(refused) > 0 {
		return nil, input.GraphProblems(refused, r.Instance.Pos(), r.Instance.String())
	}
	var objs []output.Object
	for _, m := range plain {
		obj, err := object(encoding, m.GroupVersionKind().Group, m.GetKind(), m.GetNamespace(), m.GetName(), m.Object)
		if err != nil {
			return nil, problem.List{{Position: r.Instance.Pos(), Rule: problem.RuleGraph, Message: err.Error()}}
		}
		obj.Private = len(graph.LiteralSecretKeys(m.Object)) > 0
		objs = append(objs, obj)
	}
	return objs, nil
}

// hasSecretData reports whether a graph contains a Secret with literal data, which
// --allow-secrets permits.
func hasSecretData(g *v1alpha1.ResourceGraph) bool {
	return slices.ContainsFunc(g.Spec.Graph.Nodes, func(n v1alpha1.Node) bool {
		var object map[string]any
		if n.Resource == nil || json.Unmarshal(n.Resource.Raw, &object) != nil {
			return false
		}
		return len(graph.LiteralSecretKeys(object)) > 0
	})
}

// digestField is the digest of the module in an encoded graph. No other place of a
// graph has these lines with this indentation.
var digestField = lazyregexp.New(`\n  platformRef:\n    digest: (sha256:[0-9a-f]{64})\n`)

// differsInDigest reports whether two encoded graphs are equal but for the digest of
// the module. Their renderHash is then the same: the module changed, for example in
// a comment, and renders the same graph. The file of the graph keeps the digest of
// the module that rendered it first, so that such a change of a module changes no
// file.
func differsInDigest(committed, rendered []byte) bool {
	was, is := digestField().FindSubmatchIndex(committed), digestField().FindSubmatchIndex(rendered)
	if was == nil || is == nil || was[2] != is[2] {
		return false
	}
	return bytes.Equal(committed[:was[2]], rendered[:is[2]]) && bytes.Equal(committed[was[3]:], rendered[is[3]:])
}

// object encodes one object and names it: KIND.GROUP/NAME for -o name, with the
// namespace for messages. Its path is for --output-dir. For example, the key of a
// Deployment is "deployment.apps shop/web", and -o name prints
// "deployment.apps/web".
func object(encoding, group, kind, namespace, name string, object any) (output.Object, error) {
	short := strings.ToLower(kind)
	if group != "" {
		short += "." + group
	}
	out := output.Object{Key: short + "/" + name, Path: outdir.Path(group, kind, namespace, name)}
	data, err := output.Encode(encoding, object, out.Key)
	out.Data = data
	// Two namespaces may have objects of one name, so Key gets the namespace after
	// -o name has used the short form.
	if namespace != "" {
		out.Key = fmt.Sprintf("%s %s/%s", short, namespace, name)
	}
	return out, err
}
