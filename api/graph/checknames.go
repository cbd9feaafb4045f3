package graph

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// kindPattern matches the kinds that the API server accepts in a
// CustomResourceDefinition: at most 63 characters.
var kindPattern = lazyregexp.New(`^[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$`)

// checkNames rejects apiVersions, kinds, namespaces and names that are not safe in
// the path of a request: a name such as ../secrets/x would address another object.
func (g *Graph) checkNames(n *Node, add addFunc) {
	pathOf := func(field string) string { return "externalRef." + field }
	if n.ExternalRef == nil {
		pathOf = func(field string) string {
			if field == "name" || field == "namespace" {
				field = "metadata." + field
			}
			return "resource." + field
		}
	}
	object := n.Object
	if object.Namespace == g.source.Namespace {
		object.Namespace = "" // usually it was completed, so the node cannot correct it
	}
	for field, wrong := range wrongNames(object) {
		add(n.ID, pathOf(field), wrong, "")
	}
}

// wrongNames yields the invalid fields of an object reference with a message for
// each. It skips empty fields, which are reported elsewhere.
func wrongNames(o v1alpha1.ObjectRef) func(yield func(field, wrong string) bool) {
	return func(yield func(field, wrong string) bool) {
		check := func(field, value string, valid bool, wrong string) bool {
			return value == "" || valid || yield(field, fmt.Sprintf("%q %s", value, wrong))
		}
		gv, err := schema.ParseGroupVersion(o.APIVersion)
		// The rules are those of the API server: DNS-1123 labels and subdomains
		// for groups, versions and namespaces, and any single segment of a path
		// for names.
		version := err != nil || // reported elsewhere
			(gv.Group == "" || len(validation.IsDNS1123Subdomain(gv.Group)) == 0) && len(validation.IsDNS1123Label(gv.Version)) == 0
		name := content.IsPathSegmentName(o.Name)
		_ = check("apiVersion", o.APIVersion, version, "is not an apiVersion") &&
			check("kind", o.Kind, kindPattern().MatchString(o.Kind), "is not a kind") &&
			check("namespace", o.Namespace, o.Namespace == "" || len(validation.IsDNS1123Label(o.Namespace)) == 0, "is not a namespace's name") &&
			check("name", o.Name, len(name) == 0, strings.Join(name, ", "))
	}
}
