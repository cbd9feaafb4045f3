package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/internal/problem"
)

// resourceList is the input and the output of a KRM function:
// https://github.com/kubernetes-sigs/kustomize/blob/master/cmd/config/docs/api-conventions/functions-spec.md
type resourceList struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Items      []map[string]any `json:"items"`
	// FunctionConfig is nil if the function has none. The output leaves it out.
	FunctionConfig map[string]any `json:"functionConfig,omitempty"`
	Results        []krmResult    `json:"results,omitempty"`
}

// krmResult is a problem in the output of a function.
type krmResult struct {
	Message  string    `json:"message"`
	Severity string    `json:"severity"`
	Field    *krmField `json:"field,omitempty"`
	File     *krmFile  `json:"file,omitempty"`
}

type krmField struct {
	Path string `json:"path"`
}

type krmFile struct {
	Path string `json:"path"`
}

// readResourceList parses the input of a function.
func readResourceList(data []byte) (resourceList, error) {
	var list resourceList
	asJSON, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return list, fmt.Errorf("stdin: %w", err)
	}
	if err := utiljson.Unmarshal(asJSON, &list); err != nil {
		return list, fmt.Errorf("stdin: %w", err)
	}
	if list.Kind != "ResourceList" || !strings.HasPrefix(list.APIVersion, "config.kubernetes.io/") {
		return list, errors.New("stdin: want a ResourceList of config.kubernetes.io, as kustomize and kpt write it")
	}
	return list, nil
}

// knows reports whether a kind is that of instances.
type knows func(ctx context.Context, group, kind string) (bool, error)

// instances splits the instances off the list: the function's configuration, if it is
// one, and items. The others stay in the list.
func (l *resourceList) instances(ctx context.Context, known knows) (documents, error) {
	var found documents
	candidates := l.Items
	if l.FunctionConfig != nil && !l.hasConfig() {
		candidates = append(candidates[:len(candidates):len(candidates)], l.FunctionConfig)
	}
	var others []map[string]any
	for i, item := range candidates {
		u := &unstructured.Unstructured{Object: item}
		gvk := u.GroupVersionKind()
		is, err := known(ctx, gvk.Group, gvk.Kind)
		if err != nil {
			return found, err
		}
		if is {
			if err := found.add(u); err != nil {
				return found, err
			}
		} else if i < len(l.Items) {
			others = append(others, item)
		}
	}
	l.Items, l.FunctionConfig = others, nil
	return found, nil
}

// hasConfig reports whether the configuration of the function is also an item, as
// kustomize lists it for generators.
func (l *resourceList) hasConfig() bool {
	config := &unstructured.Unstructured{Object: l.FunctionConfig}
	return slices.ContainsFunc(l.Items, func(item map[string]any) bool {
		u := &unstructured.Unstructured{Object: item}
		return u.GroupVersionKind() == config.GroupVersionKind() && u.GetNamespace() == config.GetNamespace() && u.GetName() == config.GetName()
	})
}

// documents are instances as one stream of YAML.
type documents struct {
	stream bytes.Buffer
	// ends are the last lines of the documents, and files where they come from.
	ends  []int
	files []string
}

// toolAnnotations are the prefixes of annotations with which kustomize and kpt remember
// things. They are no part of an instance.
var toolAnnotations = []string{"config.kubernetes.io/", "internal.config.kubernetes.io/", "config.k8s.io/"}

// add appends a document.
func (d *documents) add(u *unstructured.Unstructured) error {
	u = u.DeepCopy()
	file := "stdin"
	kept := map[string]string{}
	for key, value := range u.GetAnnotations() {
		if key == "internal.config.kubernetes.io/path" || key == "config.kubernetes.io/path" {
			file = value
		}
		mine := false
		for _, prefix := range toolAnnotations {
			mine = mine || strings.HasPrefix(key, prefix)
		}
		if !mine {
			kept[key] = value
		}
	}
	if len(kept) == 0 {
		kept = nil // no empty map in the instance
	}
	u.SetAnnotations(kept)
	data, err := output.Encode("yaml", u.Object, "")
	if err != nil {
		return err
	}
	d.stream.WriteString("---\n")
	d.stream.Write(data)
	d.ends = append(d.ends, bytes.Count(d.stream.Bytes(), []byte("\n")))
	d.files = append(d.files, file)
	return nil
}

// origins replaces the positions of problems in the stream by the files of the
// instances: the user does not know the lines of the stream.
func (d *documents) origins(ps problem.List) problem.List {
	for i := range ps {
		for _, at := range []*problem.Position{&ps[i].Position, &ps[i].InstanceAt} {
			for k, end := range d.ends {
				if at.File == "stdin" && at.Line <= end {
					*at = problem.Position{File: d.files[k]}
					break
				}
			}
		}
	}
	return ps
}

// resultsOf returns problems in the form of functions.
func resultsOf(ps problem.List) []krmResult {
	var all []krmResult
	for _, p := range ps {
		r := krmResult{Message: p.Message, Severity: p.Severity.String()}
		if p.Severity == problem.Note {
			r.Severity = "info"
		}
		if p.Instance != "" {
			r.Message = p.Instance + ": " + r.Message
		}
		if p.Hint != "" {
			r.Message += "; " + p.Hint
		}
		if p.Path != "" {
			r.Field = &krmField{p.Path}
		}
		if p.Position.File != "" && p.Position.File != "stdin" {
			r.File = &krmFile{p.Position.File}
		}
		all = append(all, r)
	}
	return all
}
