package modules

import (
	"context"
	"fmt"
	"io/fs"
	"path"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules/inline"
)

// openInline opens the module whose source stands in the reference.
func openInline(ref v1alpha1.CueRef, at *inline.Origin) (*Files, error) {
	if at == nil {
		at = &inline.Origin{Name: "inline"}
	}
	m, err := inline.New(InlineFiles(ref), *at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at.Name, err)
	}
	return openObject(m, ref, at.Name, "inline")
}

// InlineFiles returns the files of a reference of type inline.
func InlineFiles(ref v1alpha1.CueRef) map[string]string {
	files := map[string]string{}
	for _, f := range ref.Files {
		files[f.Name] = f.Content
	}
	if ref.Ref != "" {
		files[inline.MainFile] = ref.Ref
	}
	return files
}

// openConfigMap opens the module of a ConfigMap: one of the manifests beside the
// reference, or one that o finds.
func openConfigMap(ctx context.Context, ref v1alpha1.CueRef, at Place, o Options) (*Files, error) {
	namespace, name, err := inline.ParseConfigMap(ref.Ref)
	if err != nil {
		return nil, err
	}
	if namespace == "" {
		namespace = at.Namespace
	}
	m, err := at.ConfigMaps.Find(namespace, name)
	if err == nil && m == nil && o.ConfigMaps != nil {
		m, err = o.ConfigMaps(ctx, namespace, name)
	} else if err == nil && m == nil {
		err = fmt.Errorf("configmap:%s: not among the manifests beside the Transform, and this command reads no cluster", path.Join(namespace, name))
	}
	if err != nil {
		return nil, err
	}
	return openObject(m, ref, "configmap:"+path.Join(namespace, name), name)
}

// openObject opens a module that is in an object. shown is its name for the user, and
// name its default name.
func openObject(m *inline.Module, ref v1alpha1.CueRef, shown, name string) (*Files, error) {
	files := m.FS()
	dir := path.Clean(ref.Path)
	if info, err := fs.Stat(files, dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s: no directory %q in the module", shown, ref.Path)
	}
	return &Files{FS: boundedFS{files.(rootFS)}, Dir: dir, Name: name, Ref: shown, Place: m.Place, show: m.Origin.Show}, nil
}
