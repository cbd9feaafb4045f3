package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Names is everything that a generated kind is called: what a Transform says,
// completed from its module's #Platform and the defaults.
type Names struct {
	Group, Version         string
	Kind, Plural, Singular string
	ShortNames, Categories []string
	Scope                  Scope
	// PrinterColumns are shown by kubectl get before the ones that every
	// generated kind has.
	PrinterColumns []PrinterColumn
	// Transform is the name of the Transform, or of the module where there is none.
	Transform string
}

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
