package graph

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// kindPattern is what the API server lets a kind be.
var kindPattern = regexp.MustCompile(`^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$`)

// checkNames refuses what can't be part of the path of a request: a name such as
// ../secrets/x would lead to another object.
func (n *Node) checkNames(add addFunc) {
	at := func(field string) string { return "externalRef." + field }
	if n.ExternalRef == nil {
		at = func(field string) string {
			if field == "name" || field == "namespace" {
				field = "metadata." + field
			}
			return "resource." + field
		}
	}
	for field, wrong := range wrongNames(n.Object) {
		add(n.ID, at(field), wrong, "")
	}
}

// wrongNames tells by field what is wrong with the names of an object; names that
// are missing are told elsewhere.
func wrongNames(o v1alpha1.ObjectRef) func(yield func(field, wrong string) bool) {
	return func(yield func(field, wrong string) bool) {
		tell := func(field, value string, wrong []string) bool {
			return value == "" || len(wrong) == 0 || yield(field, fmt.Sprintf("%q: %s", value, strings.Join(wrong, ", ")))
		}
		var wrongKind []string
		if !kindPattern.MatchString(o.Kind) {
			wrongKind = []string{"is not a kind"}
		}
		var wrongVersion []string
		if gv, err := schema.ParseGroupVersion(o.APIVersion); err == nil {
			if gv.Group != "" {
				wrongVersion = validation.IsDNS1123Subdomain(gv.Group)
			}
			wrongVersion = append(wrongVersion, validation.IsDNS1123Label(gv.Version)...)
		}
		_ = tell("apiVersion", o.APIVersion, wrongVersion) && tell("kind", o.Kind, wrongKind) &&
			tell("namespace", o.Namespace, validation.IsDNS1123Label(o.Namespace)) &&
			tell("name", o.Name, path.IsValidPathSegmentName(o.Name))
	}
}
