package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Names is everything that a generated kind is called: what a Transform says,
// completed from its module's #Platform and the defaults.
type Names struct {
	Group, Version         string
	Kind, Plural, Singular string
	ShortNames, Categories []string
	Scope                  Scope
	// Versions are all versions of the kind, in the order in which the API
	// server prefers them; Version is the one that is stored.
	Versions []KindVersion
	// PrinterColumns are shown by kubectl get before the ones that every
	// generated kind has.
	PrinterColumns []PrinterColumn
	// Transform is the name of the Transform, or of the module where there is none.
	Transform string
}

// KindVersion is one version of a generated kind.
type KindVersion struct {
	Name string
	// Served is false for a version that stored objects may still be in, and
	// that nobody can use.
	Served bool
	// Deprecated versions warn their users, with DeprecationWarning if it is set.
	Deprecated         bool
	DeprecationWarning string
}

// Served lists the versions that can be used, in the order in which the API
// server prefers them.
func (n *Names) Served() []string {
	var names []string
	for _, v := range n.Versions {
		if v.Served {
			names = append(names, v.Name)
		}
	}
	return names
}

// Serves says whether a version can be used.
func (n *Names) Serves(version string) bool { return slices.Contains(n.Served(), version) }

// PrinterColumn is a column of kubectl get, as in CustomResourceDefinition's
// additionalPrinterColumns.
type PrinterColumn struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	JSONPath    string `json:"jsonPath"`
	Description string `json:"description,omitempty"`
	Format      string `json:"format,omitempty"`
	Priority    int32  `json:"priority,omitempty"`
}

// GraphName gives the name of an instance's graph: the instance's name, cut
// where it must be, and a hash, so that it is at most 63 characters, stable over
// the instance's life, and never that of another kind's instance.
func GraphName(group, kind, namespace, name string) string {
	return shorten(name, shortHash(group, kind, namespace, name))
}

// LabelValue gives a name as a label's value, which can't be over 63 characters.
func LabelValue(name string) string {
	if len(name) <= maxLabel {
		return name
	}
	return shorten(name, shortHash(name))
}

const maxLabel = 63

func shortHash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:4])
}

func shorten(name, hash string) string {
	if most := maxLabel - 1 - len(hash); len(name) > most {
		name = strings.TrimRight(name[:most], "-.")
	}
	return name + "-" + hash
}
