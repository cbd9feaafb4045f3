package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/inline"
	"github.com/pequod-io/pequod/render"
)

// transform is a Transform and its origin. It is a value to load later: reading
// all Transforms first finds errors in files before the first evaluation.
type transform struct {
	// name is metadata.name, "" for a module that was given without a Transform.
	name string
	// spec has the reference of the module. For a bare module it has nothing else.
	spec v1alpha1.TransformSpec
	// from is its name in messages: the file, or the reference of the module.
	from string
	// at is the place that references in spec are relative to, and inline those of the
	// inline ones, by their paths.
	at     modules.Place
	inline map[string]*inline.Origin
	// modules opens the module and its policies.
	modules *modules.Opener
	// doc is the document of the Transform, for positions. It is nil for a module
	// that was given without a Transform.
	doc *yamlfile.Document
}

// moduleTransform returns a Transform for a module that was given without one.
// Names and settings then come from the module itself and from defaults. from is the
// user's name for the module.
func moduleTransform(opener *modules.Opener, ref v1alpha1.CueRef, at modules.Place, from string) transform {
	return transform{modules: opener, spec: v1alpha1.TransformSpec{CueRef: ref}, at: at, from: from}
}

// transforms reads the Transforms for one value of -p: all documents of a file or
// of the files of a directory, or a single Transform for a module. A directory
// with a .cue file at its top is a module. Subdirectories are not read.
func transforms(ctx context.Context, opener *modules.Opener, arg string) ([]transform, error) {
	ref, at, err := locate(ctx, arg)
	if err != nil {
		return nil, err
	}
	if ref.Type != v1alpha1.CueRefPath {
		return []transform{moduleTransform(opener, ref, at, arg)}, nil
	}
	in := place{at.Tree}
	info, err := in.stat(ref.Ref)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		data, err := in.readFile(ctx, ref.Ref)
		if err != nil {
			return nil, err
		}
		at := in.in(filepath.Dir(ref.Ref))
		return parseTransforms(opener, data, arg, at)
	}
	entries, err := in.readDir(ref.Ref)
	if err != nil {
		return nil, err
	}
	// A .cue file anywhere at the top makes the directory a module, even if it also
	// contains YAML files, such as samples.
	var all []transform
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), ".cue") {
			return []transform{moduleTransform(opener, ref, at, arg)}, nil
		}
	}
	dir := in.in(filepath.Clean(ref.Ref))
	for _, e := range entries {
		if e.IsDir() || !files.IsYAML(e.Name()) {
			continue
		}
		data, err := in.readEntry(ctx, ref.Ref, e.Name())
		if err != nil {
			return nil, err
		}
		ts, err := parseTransforms(opener, data, in.shown(filepath.Join(ref.Ref, e.Name())), dir)
		if err != nil {
			return nil, err
		}
		all = append(all, ts...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: neither a CUE module nor a directory of Transforms", arg)
	}
	return all, nil
}

// parseTransforms parses a file in which every document is a Transform, or a ConfigMap
// with a module, which it adds to at.ConfigMaps. Other documents are errors rather than
// skipped: the file was given as platforms. file is its name in messages, and at is what
// its references are relative to. A typical document:
//
//	apiVersion: platform.pequod.io/v1alpha1
//	kind: Transform
//	metadata:
//	  name: shop
//	spec:
//	  cueRef: {type: path, ref: ../modules/shop}
func parseTransforms(opener *modules.Opener, data []byte, file string, at modules.Place) ([]transform, error) {
	docs, err := yamlfile.Parse(file, data)
	if err != nil {
		return nil, err
	}
	var all []transform
	for _, doc := range docs {
		if is, err := addConfigMap(at.ConfigMaps, doc); err != nil {
			return nil, err
		} else if is {
			continue
		}
		var t v1alpha1.Transform
		if err := doc.Decode(&t); err != nil {
			return nil, cmp.Or(clusterProblems(doc).Err(), err)
		}
		if t.APIVersion != v1alpha1.GroupVersion.String() || t.Kind != "Transform" {
			return nil, doc.Problem(fmt.Errorf("a Transform (apiVersion %s) is expected, not %s %s",
				v1alpha1.GroupVersion, t.APIVersion, t.Kind))
		}
		if t.Name == "" {
			return nil, doc.Problem(fmt.Errorf("metadata.name: missing"))
		}
		if err := checkTransform(doc, t.Spec).Err(); err != nil {
			return nil, err
		}
		here := at
		here.Namespace = t.Namespace
		all = append(all, transform{name: t.Name, spec: t.Spec, from: file, at: here, inline: inlineOrigins(doc, t.Spec), modules: opener, doc: &doc})
	}
	return all, nil
}

// place returns what the reference at a path is relative to.
func (t transform) place(path string) modules.Place {
	at := t.at
	at.Inline = t.inline[path]
	return at
}

// open opens the module of a Transform and its policies, so that load finds them open.
func (t transform) open(ctx context.Context) error {
	return each(slices.Sorted(maps.Keys(refsOf(t.spec))), func(path string) error {
		_, err := t.modules.Open(ctx, refsOf(t.spec)[path], t.place(path))
		return Refused(unlessNew(err))
	})
}

// refsOf returns the references of a Transform by their paths.
func refsOf(spec v1alpha1.TransformSpec) map[string]v1alpha1.CueRef {
	refs := map[string]v1alpha1.CueRef{modulePath: spec.CueRef}
	for i, ref := range spec.Policies {
		refs[policyPath(i)] = ref
	}
	return refs
}

// load loads the module of a Transform and its policies, and evaluates both. The
// name of the Transform wins over the module's default name.
func (t transform) load(ctx context.Context) (*render.Platform, error) {
	m, name, err := loadModule(ctx, t.modules, t.spec.CueRef, t.place(modulePath))
	if err != nil {
		return nil, t.placeDigest(err, modulePath)
	}
	if t.name != "" {
		name = t.name
	}
	p, err := render.NewPlatform(name, t.spec, m)
	if err != nil {
		return nil, t.placeNames(err, m.Ref)
	}
	p.From = t.from
	for i, ref := range t.spec.Policies {
		policy, err := loadPolicy(ctx, t.modules, ref, t.place(policyPath(i)))
		if errors.Is(err, errNew) {
			continue
		}
		if err != nil {
			return nil, t.placeDigest(err, policyPath(i))
		}
		p.Policies = append(p.Policies, policy)
	}
	return p, nil
}

// subject returns the subject of evaluations of the Transform. Its files are
// those of the module and of all policies, because either may be the cause.
func (t transform) subject(ctx context.Context) render.Subject {
	return render.Subject{Name: t.from, Files: func() []*ast.File {
		files := moduleFiles(ctx, t.modules, t.spec.CueRef, t.place(modulePath))
		for i, ref := range t.spec.Policies {
			files = append(files, moduleFiles(ctx, t.modules, ref, t.place(policyPath(i)))...)
		}
		return files
	}}
}
