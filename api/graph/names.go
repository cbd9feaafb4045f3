package graph

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// kindPattern is what the API server lets a kind be.
var kindPattern = regexp.MustCompile(`^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$`)

// checkNames refuses what can't be part of the path of a request: a name such as
// ../secrets/x would lead to another object.
func (g *Graph) checkNames(n *Node, add addFunc) {
	at := func(field string) string { return "externalRef." + field }
	if n.ExternalRef == nil {
		at = func(field string) string {
			if field == "name" || field == "namespace" {
				field = "metadata." + field
			}
			return "resource." + field
		}
	}
	object := n.Object
	if object.Namespace == g.source.Namespace {
		object.Namespace = "" // mostly it isn't the node's own
	}
	for field, wrong := range wrongNames(object) {
		add(n.ID, at(field), wrong, "")
	}
}

// wrongNames tells by field what is wrong with the names of an object; names that
// are missing are told elsewhere.
func wrongNames(o v1alpha1.ObjectRef) func(yield func(field, wrong string) bool) {
	return func(yield func(field, wrong string) bool) {
		tell := func(field, value string, right bool, wrong string) bool {
			return value == "" || right || yield(field, fmt.Sprintf("%q %s", value, wrong))
		}
		gv, err := schema.ParseGroupVersion(o.APIVersion)
		version := err != nil || // which is told elsewhere
			(gv.Group == "" || len(validation.IsDNS1123Subdomain(gv.Group)) == 0) && len(validation.IsDNS1123Label(gv.Version)) == 0
		name := content.IsPathSegmentName(o.Name)
		_ = tell("apiVersion", o.APIVersion, version, "is not an apiVersion") &&
			tell("kind", o.Kind, kindPattern.MatchString(o.Kind), "is not a kind") &&
			tell("namespace", o.Namespace, len(validation.IsDNS1123Label(o.Namespace)) == 0, "is not a namespace's name") &&
			tell("name", o.Name, len(name) == 0, strings.Join(name, ", "))
	}
}
