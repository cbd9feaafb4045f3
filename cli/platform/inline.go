package platform

import (
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/modules/inline"
	"github.com/pequod-io/pequod/modules/transform"
)

// inlineOrigins returns the places of the inline modules of a Transform by the paths of
// their references. A place is the key of an open module, so there must be one for each.
func inlineOrigins(doc yamlfile.Document, spec v1alpha1.TransformSpec) map[string]*inline.Origin {
	origins := map[string]*inline.Origin{}
	for at, ref := range transform.References(spec) {
		if ref.Type != v1alpha1.CueRefInline {
			continue
		}
		field := fieldpath.Join(at, "files")
		if ref.Ref != "" {
			field = fieldpath.Join(at, "ref")
		}
		origins[at] = &inline.Origin{
			Name: doc.Name() + ": " + field,
			Block: func(key string) (yamlfile.Block, bool) {
				for i, f := range ref.Files {
					if f.Name == key {
						return doc.Block(fieldpath.Split(field + fieldpath.Index(i) + ".content"))
					}
				}
				return doc.Block(fieldpath.Split(field))
			},
		}
	}
	return origins
}

// addConfigMap adds a document if it is a ConfigMap with files, and reports whether it
// is.
func addConfigMap(to *inline.Manifests, doc yamlfile.Document) (bool, error) {
	if doc.Text("kind") != "ConfigMap" || doc.Text("apiVersion") != "v1" {
		return false, nil
	}
	var cm corev1.ConfigMap
	if err := doc.Decode(&cm); err != nil {
		return false, err
	}
	if !inline.IsModule(&cm) && len(cm.Data)+len(cm.BinaryData) == 0 {
		return false, nil
	}
	if cm.Name == "" {
		return false, doc.Problem(fmt.Errorf("metadata.name: missing"))
	}
	shown := "ConfigMap " + path.Join(cm.Namespace, cm.Name)
	// A mistake is reported at the ConfigMap rather than at the references to it.
	if _, err := inline.FromConfigMap(&cm, inline.Origin{Name: shown}); err != nil {
		return false, doc.Problem(err)
	}
	to.Add(&cm, inline.Origin{
		Name:  doc.Name() + ": " + shown + ": data",
		Block: func(key string) (yamlfile.Block, bool) { return doc.Block([]string{"data", key}) },
	})
	return true, nil
}
