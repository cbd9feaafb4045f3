// Package ownkinds checks nodes whose objects are of a kind of Pequod, such as Action: by the schema of the
// kind, as the API server does, and by what pequod-actions would refuse.
//
// [Check] is the entry point. The checks of pequod-actions themselves are those of package api/outside.
package ownkinds

import (
	"bytes"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/outside"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/render/kinds"
)

// Catalog returns a catalog with the kinds of Kubernetes and of Pequod.
func Catalog() *kinds.Catalog {
	c := &kinds.Catalog{}
	c.AddOwn(v1alpha1.Group, func(kind string) (*kinds.Custom, error) {
		for _, doc := range config.Definitions() {
			if bytes.Contains(doc, []byte("\n    kind: "+kind+"\n")) {
				return kinds.ParseDefinition(doc)
			}
		}
		return nil, nil
	})
	return c
}

// shared is the catalog of Check.
var shared = sync.OnceValue(Catalog)

// Check returns the problems of a node whose object is of a kind of Pequod. It accepts all others.
// What the schema refuses isn't checked further. The paths begin at the node.
func Check(n v1alpha1.Node, object map[string]any) problem.List {
	apiVersion, _ := object["apiVersion"].(string)
	if gv, err := schema.ParseGroupVersion(apiVersion); err != nil || gv.Group != v1alpha1.Group {
		return nil
	}
	if found := shared().CheckNode(n, object); len(found) > 0 {
		return found
	}
	return Outside(object)
}

// Outside returns the problems of a node for which pequod-actions would not execute its object. The
// paths begin at the node.
func Outside(object map[string]any) problem.List {
	found := outside.Check(object)
	for i := range found {
		found[i].Path = fieldpath.Concat("resource", found[i].Path)
	}
	return found
}
