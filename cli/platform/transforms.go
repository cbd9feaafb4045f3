package platform

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/outdir"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// Transforms returns the Transforms in the files that -p names, as they are, for the
// use in a cluster. A module without a Transform is an error. So is a Transform that
// refers to files, because a cluster has none.
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
			objects = append(objects, obj)
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return objects, nil
}

// localRefs returns a problem for each reference to files.
func (t transform) localRefs() problem.List {
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
		add(policyPath(i), ref)
	}
	return ps
}

// object returns the document of the Transform. Its path names no namespace unless the
// document has one.
func (t transform) object() (output.Object, error) {
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
				add(policyPath(i), ref)
			}
		}
	}
	return places, nil
}
