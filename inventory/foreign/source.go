package foreign

import (
	"fmt"
	"slices"
	"strings"
)

// Tool is the kind of an inventory.
type Tool string

// The tools whose inventories can be read, by the prefix of their references.
const (
	Flux     Tool = "flux"
	Kpt      Tool = "kpt"
	CLIUtils Tool = "cli-utils"
	Kapp     Tool = "kapp"
	Helm     Tool = "helm"
	ArgoCD   Tool = "argocd"
)

// Tools are all tools, in the order of the help.
var Tools = []Tool{Flux, Kpt, CLIUtils, Kapp, Helm, ArgoCD}

// argoNamespace is where Argo CD keeps its Applications by default. They are rarely in
// the namespace of their objects.
const argoNamespace = "argocd"

// titles are the names of the tools, and of the objects with their inventories.
var titles = map[Tool][2]string{
	Flux:     {"Flux", "Kustomization"},
	Kpt:      {"kpt", "ResourceGroup"},
	CLIUtils: {"the cli-utils applier", "inventory ConfigMap"},
	Kapp:     {"kapp", "app"},
	Helm:     {"Helm", "release"},
	ArgoCD:   {"Argo CD", "Application"},
}

// Title returns the name of a tool for messages.
func (t Tool) Title() string { return titles[t][0] }

// Source is a reference to an inventory.
type Source struct {
	Tool            Tool
	Namespace, Name string
}

// ParseSource reads a reference in the form TOOL:NAME or TOOL:NAMESPACE/NAME.
// namespace is the namespace of a reference without one.
func ParseSource(text, namespace string) (Source, error) {
	tool, name, ok := strings.Cut(text, ":")
	if !ok || !slices.Contains(Tools, Tool(tool)) {
		return Source{}, fmt.Errorf("%q: want TOOL:NAMESPACE/NAME, where TOOL is one of %s", text, join(Tools))
	}
	s := Source{Tool: Tool(tool), Namespace: namespace, Name: name}
	if s.Tool == ArgoCD {
		s.Namespace = argoNamespace
	}
	if in, rest, ok := strings.Cut(name, "/"); ok {
		s.Namespace, s.Name = in, rest
	}
	if s.Namespace == "" || s.Name == "" || strings.Contains(s.Name, "/") {
		return Source{}, fmt.Errorf("%q: want %s:NAMESPACE/NAME", text, tool)
	}
	return s, nil
}

// String returns the object with the inventory, as in "Kustomization apps/web".
func (s Source) String() string {
	return titles[s.Tool][1] + " " + s.Namespace + "/" + s.Name
}

func join(tools []Tool) string {
	var names []string
	for _, t := range tools {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}
