package platform

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/outdir"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/modules/inline"
	"github.com/pequod-io/pequod/modules/transform"
)

// Transforms returns the Transforms in the files that -p names, as they are, and the
// ConfigMaps beside them that they refer to, for the use in a cluster. A module without a
// Transform is an error. So is a Transform that refers to files, because a cluster has none, or
// to a ConfigMap that is not there.
func (f *Flags) Transforms(ctx context.Context) ([]output.Object, error) {
	var objects []output.Object
	var problems problem.List
	for _, arg := range f.Platforms {
		all, err := transforms(ctx, f.Modules, arg)
		if err != nil {
			return nil, err
		}
		for _, t := range all {
			if t.doc == nil {
				return nil, fmt.Errorf("%s: a module without a Transform; write one, which names the kind and refers to the module", t.from)
			}
			problems = append(problems, t.localRefs()...)
			obj, err := t.object()
			if err != nil {
				return nil, err
			}
			maps, missing, err := t.configMaps()
			if err != nil {
				return nil, err
			}
			problems = append(problems, missing...)
			for _, o := range append(maps, obj) {
				// Several Transforms can refer to one ConfigMap.
				if !slices.ContainsFunc(objects, func(have output.Object) bool { return have.Path == o.Path && bytes.Equal(have.Data, o.Data) }) {
					objects = append(objects, o)
				}
			}
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return objects, nil
}

// localRefs returns a problem for each reference to files.
func (t definition) localRefs() problem.List {
	var ps problem.List
	add := func(path string, ref v1alpha1.CueRef) {
		local := ref.Type == v1alpha1.CueRefPath || ref.Type == v1alpha1.CueRefOCI && !strings.HasPrefix(ref.Ref, "oci://")
		if local {
			path = fieldpath.Join(path, "ref")
			ps = append(ps, problem.Problem{
				Position: t.doc.At(path), Path: path, Rule: problem.RuleTransform,
				Message: fmt.Sprintf("%q is a file, which a cluster can't read", ref.Ref), Hint: "publish the module, and refer to it with type oci",
			})
		}
	}
	add("spec.cueRef", t.spec.CueRef)
	for i, ref := range t.spec.Policies {
		add(transform.PolicyPath(i), ref)
	}
	return ps
}

// configMaps returns the ConfigMaps that the references of a Transform name, and a problem for
// each that is not beside it. One without a namespace gets that of the reference or of the
// Transform, if they have one.
func (t definition) configMaps() (objects []output.Object, missing problem.List, err error) {
	for at, ref := range transform.References(t.spec) {
		if ref.Type != v1alpha1.CueRefConfigMap {
			continue
		}
		namespace, name, err := inline.ParseConfigMap(ref.Ref)
		if err != nil {
			return nil, nil, err
		}
		namespace = cmp.Or(namespace, t.at.Namespace)
		cm, err := t.at.ConfigMaps.Object(namespace, name)
		if err != nil {
			return nil, nil, err
		}
		if cm == nil {
			at = fieldpath.Join(at, "ref")
			missing = append(missing, problem.Problem{
				Position: t.doc.At(at), Path: at, Rule: problem.RuleTransform,
				Message: fmt.Sprintf("ConfigMap %s is not beside the Transform, so the bundle would lack it", path.Join(namespace, name)),
				Hint:    "add its manifest to the file or the directory",
			})
			continue
		}
		cm = cm.DeepCopy()
		cm.Namespace = cmp.Or(cm.Namespace, namespace)
		obj := output.Object{Key: "configmap/" + name, Path: outdir.Path("", "ConfigMap", cm.Namespace, name)}
		if cm.Namespace == "" {
			obj.Path = path.Base(obj.Path)
		}
		generic, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cm)
		if err != nil {
			return nil, nil, err
		}
		if obj.Data, err = output.Encode("yaml", generic, obj.Key); err != nil {
			return nil, nil, err
		}
		objects = append(objects, obj)
	}
	slices.SortFunc(objects, func(a, b output.Object) int { return cmp.Compare(a.Path, b.Path) })
	return objects, missing.Sorted(), nil
}

// object returns the document of the Transform. Its path names no namespace unless the
// document has one.
func (t definition) object() (output.Object, error) {
	var generic map[string]any
	if err := t.doc.Decode(&generic); err != nil {
		return output.Object{}, err
	}
	metadata, _ := generic["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	obj := output.Object{
		Key:  "transform." + v1alpha1.GroupVersion.Group + "/" + t.name,
		Path: outdir.Path(v1alpha1.GroupVersion.Group, "Transform", namespace, t.name),
	}
	if namespace == "" {
		obj.Path = path.Base(obj.Path)
	}
	var err error
	obj.Data, err = output.Encode("yaml", generic, obj.Key)
	return obj, err
}

// References returns the places in Transforms at which each reference to a module stands,
// as FILE:LINE:COLUMN. Digests are left out of references. Those that -p names directly
// have no place.
func (f *Flags) References(ctx context.Context) (map[string][]string, error) {
	places := map[string][]string{}
	for _, arg := range f.Platforms {
		all, err := transforms(ctx, f.Modules, arg)
		if err != nil {
			return nil, err
		}
		for _, t := range all {
			if t.doc == nil {
				continue
			}
			add := func(path string, ref v1alpha1.CueRef) {
				name, _, _ := strings.Cut(ref.Ref, "@sha256:")
				places[name] = append(places[name], t.doc.At(fieldpath.Join(path, "ref")).String())
			}
			add("spec.cueRef", t.spec.CueRef)
			for i, ref := range t.spec.Policies {
				add(transform.PolicyPath(i), ref)
			}
		}
	}
	return places, nil
}
