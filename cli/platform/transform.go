package platform

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/modules"
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
	// base is the directory that relative paths in spec start from.
	base string
	// modules opens the module and its policies.
	modules *modules.Opener
	// doc is the document of the Transform, for positions. It is nil for a module
	// that was given without a Transform.
	doc *yamlfile.Document
}

// moduleTransform returns a Transform for a module that was given without one.
// Names and settings then come from the module itself and from defaults.
func moduleTransform(opener *modules.Opener, ref v1alpha1.CueRef) transform {
	t := transform{modules: opener, spec: v1alpha1.TransformSpec{CueRef: ref}, from: ref.Ref}
	if ref.Type == v1alpha1.CueRefEmbedded {
		t.from = "embedded:" + ref.Ref
	}
	return t
}

// transforms reads the Transforms for one value of -p: all documents of a file or
// of the files of a directory, or a single Transform for a module. A directory
// with a .cue file at its top is a module. Subdirectories are not read.
func transforms(ctx context.Context, opener *modules.Opener, arg string) ([]transform, error) {
	ref, err := modules.ParseRef(arg)
	if err != nil {
		return nil, err
	}
	if ref.Type != v1alpha1.CueRefPath {
		return []transform{moduleTransform(opener, ref)}, nil
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, command.FileError(err)
	}
	if !info.IsDir() {
		return readTransforms(ctx, opener, arg)
	}
	entries, err := os.ReadDir(arg)
	if err != nil {
		return nil, command.FileError(err)
	}
	// A .cue file anywhere at the top makes the directory a module, even if it also
	// contains YAML files, such as samples.
	var all []transform
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), ".cue") {
			return []transform{moduleTransform(opener, ref)}, nil
		}
	}
	for _, e := range entries {
		if e.IsDir() || !files.IsYAML(e.Name()) {
			continue
		}
		if err := files.CheckEntry(arg, filepath.Join(arg, e.Name())); err != nil {
			return nil, err
		}
		ts, err := readTransforms(ctx, opener, filepath.Join(arg, e.Name()))
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

// readTransforms reads a file in which every document is a Transform. Other
// documents are errors rather than skipped: the file was given as platforms. A
// typical document:
//
//	apiVersion: platform.pequod.io/v1alpha1
//	kind: Transform
//	metadata:
//	  name: shop
//	spec:
//	  cueRef: {type: path, ref: ../modules/shop}
func readTransforms(ctx context.Context, opener *modules.Opener, file string) ([]transform, error) {
	data, err := files.ReadFile(ctx, file)
	if err != nil {
		return nil, err
	}
	docs, err := yamlfile.Parse(file, data)
	if err != nil {
		return nil, err
	}
	var all []transform
	for _, doc := range docs {
		var t v1alpha1.Transform
		if err := doc.Decode(&t); err != nil {
			return nil, err
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
		all = append(all, transform{name: t.Name, spec: t.Spec, from: file, base: filepath.Dir(file), modules: opener, doc: &doc})
	}
	return all, nil
}

// load loads the module of a Transform and its policies, and evaluates both. The
// name of the Transform wins over the module's default name.
func (t transform) load(ctx context.Context) (*render.Platform, error) {
	m, name, err := loadModule(ctx, t.modules, t.spec.CueRef, t.base)
	if err != nil {
		return nil, t.placeDigest(err, "spec.cueRef")
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
		policy, err := loadPolicy(ctx, t.modules, ref, t.base)
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
		files := moduleFiles(ctx, t.modules, t.spec.CueRef, t.base)
		for _, ref := range t.spec.Policies {
			files = append(files, moduleFiles(ctx, t.modules, ref, t.base)...)
		}
		return files
	}}
}
