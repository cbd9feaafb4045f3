package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/inline"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/render"
)

// definition is a Transform and its origin. It is a value to load later: reading
// all Transforms first finds errors in files before the first evaluation.
type definition struct {
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
func moduleTransform(opener *modules.Opener, ref v1alpha1.CueRef, at modules.Place, from string) definition {
	return definition{modules: opener, spec: v1alpha1.TransformSpec{CueRef: ref}, at: at, from: from}
}

// transforms reads the Transforms for one value of -p: all documents of a file or
// of the files of a directory, or a single Transform for a module. A directory
// with a .cue file at its top is a module. Subdirectories are not read.
func transforms(ctx context.Context, opener *modules.Opener, arg string) ([]definition, error) {
	ref, at, err := locate(ctx, arg)
	if err != nil {
		return nil, err
	}
	if ref.Type != v1alpha1.CueRefPath {
		return []definition{moduleTransform(opener, ref, at, arg)}, nil
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
	var all []definition
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), ".cue") {
			return []definition{moduleTransform(opener, ref, at, arg)}, nil
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
//	apiVersion: platform.transform.io/v1alpha1
//	kind: Transform
//	metadata:
//	  name: shop
//	spec:
//	  cueRef: {type: path, ref: ../modules/shop}
func parseTransforms(opener *modules.Opener, data []byte, file string, at modules.Place) ([]definition, error) {
	docs, err := yamlfile.Parse(file, data)
	if err != nil {
		return nil, err
	}
	var all []definition
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
		all = append(all, definition{name: t.Name, spec: t.Spec, from: file, at: here, inline: inlineOrigins(doc, t.Spec), modules: opener, doc: &doc})
	}
	return all, nil
}

// place returns what the reference at a path is relative to.
func (t definition) place(path string) modules.Place {
	at := t.at
	at.Inline = t.inline[path]
	return at
}

// open opens the module of a Transform and its policies. It returns nil for a module that
// [Flags.Before] has no earlier version of.
func (t definition) open(ctx context.Context) (*opened, error) {
	sources, err := transform.Open(ctx, t.modules, t.name, t.spec, t.place)
	if errors.Is(err, transform.ErrLeftOut) {
		return nil, nil
	}
	if err != nil {
		return nil, transform.Refused(err)
	}
	sources.From = t.from
	return &opened{sources, t.doc}, nil
}

// opened are the open modules of a Transform, and its document or nil.
type opened struct {
	*transform.Sources
	doc *yamlfile.Document
}

// Load is [transform.Sources.Load] with the positions of problems in the document.
func (s *opened) Load() (*render.Platform, error) {
	p, err := s.Sources.Load()
	var problems problem.List
	if s.doc == nil || !errors.As(err, &problems) {
		return p, err
	}
	placed := slices.Clone(problems)
	for i, q := range placed {
		if q.Position == (problem.Position{File: s.From}) && strings.HasPrefix(q.Path, "spec.") {
			placed[i].Position = s.doc.At(q.Path)
		}
	}
	return nil, placed
}
