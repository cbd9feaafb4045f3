package inline

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// ConfigMaps returns the module of a ConfigMap. The namespace is "" if the reference has
// none, and neither has its Transform. An error names the ConfigMap.
type ConfigMaps func(ctx context.Context, namespace, name string) (*Module, error)

// Manifests are ConfigMaps of files. A nil *Manifests is empty.
type Manifests struct{ all []manifest }

// manifest is a ConfigMap of a file.
type manifest struct {
	object *corev1.ConfigMap
	origin Origin
}

// Add adds a ConfigMap. It must not be called once Find is in use.
func (m *Manifests) Add(cm *corev1.ConfigMap, at Origin) { m.all = append(m.all, manifest{cm, at}) }

// Find returns the module of a ConfigMap, or nil if there is no such manifest. Manifests
// often have no namespace, and are then of any.
func (m *Manifests) Find(namespace, name string) (*Module, error) {
	found, err := m.find(namespace, name)
	if found == nil || err != nil {
		return nil, err
	}
	return FromConfigMap(found.object, found.origin)
}

// Object returns a ConfigMap, or nil if there is no such manifest. It must not be changed.
func (m *Manifests) Object(namespace, name string) (*corev1.ConfigMap, error) {
	found, err := m.find(namespace, name)
	if found == nil || err != nil {
		return nil, err
	}
	return found.object, nil
}

// find returns the only manifest of a ConfigMap, or nil.
func (m *Manifests) find(namespace, name string) (*manifest, error) {
	if m == nil {
		return nil, nil
	}
	var found []manifest
	for _, c := range m.all {
		if c.object.Name == name && (c.object.Namespace == namespace || c.object.Namespace == "" || namespace == "") {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return &found[0], nil
	}
	return nil, fmt.Errorf("two ConfigMaps %s: %s and %s", name, found[0].origin.Name, found[1].origin.Name)
}

// separator stands in keys of ConfigMaps for the slash, which they can't have.
const separator = "__"

// ParseConfigMap parses NAMESPACE/NAME or NAME.
func ParseConfigMap(ref string) (namespace, name string, err error) {
	namespace, name, ok := strings.Cut(ref, "/")
	if !ok {
		namespace, name = "", ref
	}
	if ok && len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return "", "", fmt.Errorf("%q is not the name of a ConfigMap: want NAME or NAMESPACE/NAME", ref)
	}
	return namespace, name, nil
}

// IsModule reports whether a ConfigMap has the label of modules.
func IsModule(cm *corev1.ConfigMap) bool { return cm.Labels[v1alpha1.LabelCueModule] == "true" }

// FromConfigMap returns the module of a ConfigMap. The keys are the paths of the files,
// with two underscores for each slash: cue.mod__module.cue is cue.mod/module.cue. A
// ConfigMap without the label, or with binary data, is refused.
func FromConfigMap(cm *corev1.ConfigMap, at Origin) (*Module, error) {
	if !IsModule(cm) {
		return nil, fmt.Errorf("%s: has no label %s=true, which marks modules", at.Name, v1alpha1.LabelCueModule)
	}
	if len(cm.BinaryData) > 0 {
		key := slices.Sorted(maps.Keys(cm.BinaryData))[0]
		return nil, fmt.Errorf("%s: binaryData[%s]: modules are text in UTF-8, in data", at.Name, key)
	}
	files := map[string]string{}
	for key, content := range cm.Data {
		files[strings.ReplaceAll(key, separator, "/")] = content
	}
	at.separator = separator
	m, err := New(files, at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at.Name, err)
	}
	return m, nil
}
