package input

import (
	"bytes"
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/actions/verdict"
	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/render/kinds"
)

// OwnKinds returns a catalog with the kinds of Kubernetes and of Pequod.
func OwnKinds() *kinds.Catalog {
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

// checkOwn returns a check of nodes whose objects are of a kind of Pequod, such as Action. It
// accepts all others.
func checkOwn() func(v1alpha1.Node, map[string]any) problem.List {
	c := OwnKinds()
	return func(n v1alpha1.Node, object map[string]any) problem.List {
		apiVersion, _ := object["apiVersion"].(string)
		if gv, err := schema.ParseGroupVersion(apiVersion); err != nil || gv.Group != v1alpha1.Group {
			return nil
		}
		if found := c.CheckNode(n, object); len(found) > 0 || object["kind"] != "Monitor" {
			return found
		}
		return checkMonitor(object)
	}
}

// checkMonitor returns the problems of a Monitor that its definition can't find, and for which
// pequod-actions would not execute it.
func checkMonitor(object map[string]any) problem.List {
	late := reference.Find(object)
	if len(late.From)+len(late.Generate) > 0 {
		return nil // a part of it isn't known
	}
	raw, err := json.Marshal(object)
	m := &v1alpha1.Monitor{}
	if err == nil {
		err = json.Unmarshal(raw, m)
	}
	if err == nil {
		_, err = verdict.Compile(m)
	}
	if err == nil {
		return nil
	}
	found := verdict.Problems(err)
	for i := range found {
		found[i].Path = fieldpath.Concat("resource", found[i].Path)
	}
	return found
}
