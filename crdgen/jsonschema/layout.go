package jsonschema

import (
	"strings"

	"github.com/pequod-io/pequod/crdgen/openapi"
)

// Layout is a convention for the names of schema files.
type Layout string

const (
	// Kubeconform is the convention of kubeconform and of the schemas of Kubernetes:
	// webservice-pequod-v1alpha1.json. The group is its part before the first dot.
	Kubeconform Layout = "kubeconform"
	// Catalog is the convention of the CRDs-catalog of Datree, which yaml-language-server
	// reads as a store of CRDs: pequod.io/webservice_v1alpha1.json.
	Catalog Layout = "crds-catalog"
)

// Layouts returns the layouts by name. The first is the default.
func Layouts() []string { return []string{string(Kubeconform), string(Catalog)} }

// AllFile is the name of the file of [All] in every layout.
const AllFile = "all.json"

// File returns the path of the schema of a kind, with slashes.
func (l Layout) File(k openapi.Kind) string {
	kind, version := strings.ToLower(k.Kind), strings.ToLower(k.Version)
	if l == Catalog {
		return k.Group + "/" + kind + "_" + version + ".json"
	}
	group, _, _ := strings.Cut(k.Group, ".")
	return kind + "-" + group + "-" + version + ".json"
}
