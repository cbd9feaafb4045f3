package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Names are the names, versions and columns of a generated kind. They come from
// the Transform, then from the module's #Platform, then from defaults.
type Names struct {
	// Group is the API group, and Version the storage version.
	Group, Version         string
	Kind, Plural, Singular string
	ShortNames, Categories []string
	Scope                  Scope
	// Versions are all versions of the kind, including Version. The API server
	// prefers the first.
	Versions []KindVersion
	// PrinterColumns are the columns that kubectl get prints before the columns
	// that every generated kind has.
	PrinterColumns []PrinterColumn
	// Scale has the paths of the scale subresource, or is nil for a kind without one.
	Scale *Scale
	// Transform is the name of the Transform, or the name of the module if the
	// kind has no Transform.
	Transform string
}

// KindVersion is one version of a generated kind.
type KindVersion struct {
	Name string
	// Served reports whether clients can use the version. Objects may still be
	// stored in a version that is not served.
	Served bool
	// Deprecated makes the API server return a warning to clients of the version.
	Deprecated bool
	// DeprecationWarning is the text of that warning. If it is empty, the API
	// server uses a default text.
	DeprecationWarning string
}

// Served returns the names of the served versions. The API server prefers the
// first.
func (n *Names) Served() []string {
	var names []string
	for _, v := range n.Versions {
		if v.Served {
			names = append(names, v.Name)
		}
	}
	return names
}

// Serves reports whether clients can use a version.
func (n *Names) Serves(version string) bool { return slices.Contains(n.Served(), version) }

// PrinterColumn is a column of kubectl get. Its fields are those of
// additionalPrinterColumns in a CustomResourceDefinition.
type PrinterColumn struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	JSONPath    string `json:"jsonPath"`
	Description string `json:"description,omitempty"`
	Format      string `json:"format,omitempty"`
	Priority    int32  `json:"priority,omitempty"`
}

// Scale has the paths of the scale subresource of a kind. Its fields are those of
// subresources.scale in a CustomResourceDefinition.
type Scale struct {
	// SpecReplicasPath is the field that kubectl scale and autoscalers set, such as
	// .spec.replicas.
	SpecReplicasPath string `json:"specReplicasPath"`
	// StatusReplicasPath is the field with the current number of replicas, such as
	// .status.outputs.replicas.
	StatusReplicasPath string `json:"statusReplicasPath"`
	// LabelSelectorPath is the field with the selector of the Pods as text, or empty.
	LabelSelectorPath string `json:"labelSelectorPath,omitempty"`
}

// GraphName returns the name of the graph of an instance: the instance's name
// followed by a hash of all four arguments. The name is at most 63 characters
// long, does not change during the instance's life, and differs from the names
// of graphs of other kinds' instances with the same name. The hash has 32 bits: whoever
// writes a graph must refuse one of another instance, see [UniqueName].
func GraphName(group, kind, namespace, name string) string {
	return shorten(name, hashOf(4, group, kind, namespace, name))
}

// UniqueName returns a name like [GraphName], with a hash of 64 bits. It is infeasible to find other
// arguments with the same name, so rights can depend on the name.
func UniqueName(group, kind, namespace, name string) string {
	return shorten(name, hashOf(8, group, kind, namespace, name))
}

// LabelValue returns name as the value of a label. Label values are limited to 63
// characters, so longer names are cut and end in a hash.
func LabelValue(name string) string {
	if len(name) <= maxLabel {
		return name
	}
	return shorten(name, hashOf(4, name))
}

// maxLabel is Kubernetes' limit for the length of a label value.
const maxLabel = 63

// hashOf returns a hash of parts with a number of bytes, as hex digits.
func hashOf(bytes int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:bytes])
}

// shorten appends a hash to name, and cuts name so that the result is not longer
// than [maxLabel].
func shorten(name, hash string) string {
	if most := maxLabel - 1 - len(hash); len(name) > most {
		name = strings.TrimRight(name[:most], "-.")
	}
	return name + "-" + hash
}

// MayBeGraphName reports whether [GraphName] may have made the name of a graph from the name of
// an instance. Which kind the instance has can't be told from the names.
func MayBeGraphName(graph, instance string) bool {
	hash := graph[strings.LastIndexByte(graph, '-')+1:]
	_, err := hex.DecodeString(hash)
	return err == nil && len(hash) == 8 && hash == strings.ToLower(hash) && shorten(instance, hash) == graph
}

// DefaultPlural returns the plural of a kind in lower case, by the rules of English for regular
// nouns, for a kind whose module gives none. A CRD can't be renamed, so these rules must stay as they are.
func DefaultPlural(kind string) string {
	name := strings.ToLower(kind)
	before, endsInY := strings.CutSuffix(name, "y")
	switch {
	case strings.HasSuffix(name, "endpoints"): // as in Kubernetes
		return name
	case endsInY && before != "" && !strings.ContainsAny(before[len(before)-1:], "aeiou"):
		return before + "ies"
	case slices.ContainsFunc([]string{"s", "x", "z", "ch", "sh"}, func(end string) bool { return strings.HasSuffix(name, end) }):
		return name + "es"
	}
	return name + "s"
}
