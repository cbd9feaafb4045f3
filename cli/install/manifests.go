package install

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/inventory"
)

// The installation of the applier is executed as a graph of this name.
const (
	installNamespace = "pequod-system"
	installName      = "pequod-applier"
)

const (
	kindCRD       = "CustomResourceDefinition"
	kindNamespace = "Namespace"
)

// installation are the documents that are installed.
type installation struct {
	text    []byte
	objects []*unstructured.Unstructured
}

// imageLine is where the image of the applier stands.
var imageLine = regexp.MustCompile(`(?m)^(\s+image: )ghcr\.io/pequod-io/pequod-applier:\S+$`)

// imageName is a reference to an image that YAML reads as a string.
var imageName = regexp.MustCompile(`^[a-z0-9][a-z0-9._:/-]*[a-zA-Z0-9._-]*(:[a-zA-Z0-9._-]+)?(@sha256:[0-9a-f]{64})?$`)

// applierManifests gives the documents of config/applier, with another image if
// one is given, or its definitions only.
func applierManifests(image string, crdsOnly bool) (*installation, error) {
	text := config.Applier
	if image != "" {
		if !imageName.MatchString(image) {
			return nil, fmt.Errorf("--image: %q is not the name of an image", image)
		}
		text = imageLine.ReplaceAll(text, []byte("${1}"+image))
	}
	all := &installation{}
	for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
		obj := &unstructured.Unstructured{}
		if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(doc), len(doc)).Decode(obj); err != nil && err != io.EOF {
			return nil, err
		}
		if crdsOnly && obj.GetKind() != kindCRD {
			continue
		}
		if len(all.objects) > 0 {
			all.text = append(all.text, "---\n"...)
		}
		all.text = append(append(all.text, bytes.TrimSuffix(doc, []byte("\n"))...), '\n')
		all.objects = append(all.objects, obj)
	}
	return all, nil
}

// graph gives the installation as a graph, so that it is executed as every other:
// the program comes when everything that it needs is there. What exists already is
// taken, whoever made it: kubectl apply -k does the same.
func (m *installation) graph() (*v1alpha1.ResourceGraph, error) {
	rg := &v1alpha1.ResourceGraph{}
	rg.Namespace, rg.Name = installNamespace, installName
	rg.Spec.Adopt = &v1alpha1.Adopt{Mode: v1alpha1.AdoptExplicit}
	var before []string
	for _, obj := range m.objects {
		data, err := json.Marshal(obj)
		if err != nil {
			return nil, err
		}
		node := v1alpha1.Node{
			ID:       strings.ToLower(obj.GetKind()) + "-" + obj.GetName(),
			Resource: &runtime.RawExtension{Raw: data},
		}
		if obj.GetKind() == "Deployment" {
			node.Dependencies = before
		}
		before = append(before, node.ID)
		rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, node)
		rg.Spec.Adopt.Resources = append(rg.Spec.Adopt.Resources, v1alpha1.ObjectRef{
			APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(),
		})
	}
	return rg, nil
}

// unrecorded keeps no inventory: the namespace that it would be in is part of what
// is installed. What an earlier version installed is found by its labels.
type unrecorded struct{}

func (unrecorded) Load(_ context.Context, owner inventory.Owner) (*inventory.Inventory, error) {
	return &inventory.Inventory{Owner: owner}, nil
}

func (unrecorded) Save(context.Context, *inventory.Inventory) error { return nil }

func (unrecorded) Remove(context.Context, *inventory.Inventory) error { return nil }

// List knows of no other graph that would take what is installed.
func (unrecorded) List(context.Context, string) ([]*inventory.Inventory, error) { return nil, nil }
