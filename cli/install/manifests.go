package install

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/inventory"
)

// installNamespace is the namespace of the programs, and of the graphs as which they are
// installed. It matches config/applier and config/default.
const installNamespace = "pequod-system"

// Kinds that need special treatment in several places. A CRD outlives the applier
// unless the graphs are removed, too; the namespace goes last.
const (
	kindCRD       = "CustomResourceDefinition"
	kindNamespace = "Namespace"
)

// installation is the set of objects to install: all manifests of a mode, or only the
// CRDs. text is printed by --export, and objects are applied otherwise.
type installation struct {
	mode mode
	// text is the YAML of the objects, with the comments of the manifests.
	text []byte
	// objects are the decoded documents of text, in the same order: the CRDs and
	// the namespace come before the objects that need them.
	objects []*unstructured.Unstructured
	// excluded are the objects that are not installed.
	excluded []inventory.Entry
}

// imageLine matches the line with the image of the program in the manifests.
var imageLine = lazyregexp.New(`(?m)^(\s+image: )(ghcr\.io/pequod-io/pequod-(?:applier|manager|actions):\S+)$`)

// imageOf returns the replacement of imageLine: the image that the user chose, or the
// released image by its digest, so that a tag that was moved has no effect. It is the
// line as it is in a build that isn't a release.
func imageOf(chosen, digest string) string {
	switch {
	case chosen != "":
		return "${1}" + chosen
	case digest != "":
		return "${1}${2}@" + digest
	}
	return "${0}"
}

// changedImage returns the image of the program in manifests, or "" if it is that of the manifests
// before.
func changedImage(before, after []byte) string {
	released := imageLine().FindSubmatch(before)
	if released == nil || bytes.Contains(after, append(released[0], '\n')) {
		return ""
	}
	_, rest, _ := bytes.Cut(after, released[1])
	image, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(image)
}

// imageName matches an image reference that is a plain string in YAML. It keeps a
// value of --image from changing the structure of the manifests.
var imageName = lazyregexp.New(`^[a-z0-9][a-z0-9._:/-]*[a-zA-Z0-9._-]*(:[a-zA-Z0-9._-]+)?(@sha256:[0-9a-f]{64})?$`)

// variant selects what is installed: the manifests of a mode, with components.
type variant struct {
	mode mode
	// image replaces the image of the program unless it is empty.
	image string
	// constrained replaces the blanket right to impersonate service accounts.
	constrained bool
	// webhooks adds the webhooks of the program.
	webhooks bool
	// egress are the hosts and networks that Actions may connect to.
	egress []string
}

// manifests returns the objects of the mode, and of its webhooks, that keep accepts. The
// variant is made in the text, so that --export shows it with all comments.
func (v variant) manifests(keep func(*unstructured.Unstructured) bool) (*installation, error) {
	if v.image != "" && !imageName().MatchString(v.image) {
		return nil, fmt.Errorf("--image: %q is not a valid image reference", v.image)
	}
	text := imageLine().ReplaceAll(v.mode.manifests, []byte(imageOf(v.image, v.mode.digest)))
	if v.mode.actions {
		text = withRunner(text, changedImage(v.mode.manifests, text))
	}
	text, err := withEgress(text, v.egress)
	if err != nil {
		return nil, err
	}
	if v.constrained {
		text = []byte(v.mode.constrain(string(text)))
	}
	programOnly := keep
	if v.webhooks {
		text = []byte(withWebhooks(string(text)))
	} else {
		keep = func(*unstructured.Unstructured) bool { return false }
	}
	all := &installation{mode: v.mode}
	if err := all.add(text, programOnly); err != nil {
		return all, err
	}
	if v.mode.operator {
		constrained := func(obj *unstructured.Unstructured) bool { return v.constrained && programOnly(obj) }
		if err := all.add(config.ConstrainedManager, constrained); err != nil {
			return all, err
		}
	}
	if v.mode.webhooks == nil {
		return all, nil
	}
	return all, all.add(v.mode.webhooks, keep)
}

// add adds the documents of a text that keep accepts.
func (all *installation) add(text []byte, keep func(*unstructured.Unstructured) bool) error {
	// The text is split rather than decoded as a stream, because export keeps the
	// comments of each document.
	for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
		obj := &unstructured.Unstructured{}
		if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(doc), len(doc)).Decode(obj); err != nil && err != io.EOF {
			return err
		}
		if !keep(obj) {
			all.excluded = append(all.excluded, inventory.Entry{Key: engine.KeyOf(obj), Version: obj.GroupVersionKind().Version})
			continue
		}
		if len(all.objects) > 0 {
			all.text = append(all.text, "---\n"...)
		}
		all.text = append(append(all.text, bytes.TrimSuffix(doc, []byte("\n"))...), '\n')
		all.objects = append(all.objects, obj)
	}
	return nil
}

// graph returns the installation as a graph. Each object is a node; its id is
// made of the kind and the name, as in "deployment-pequod-applier". The
// Deployment depends on all objects before it, so that the program starts with
// its roles in place. All objects may be adopted: install takes over existing
// ones, as kubectl apply -k does.
func (m *installation) graph() (*v1alpha1.ResourceGraph, error) {
	rg := &v1alpha1.ResourceGraph{}
	rg.Namespace, rg.Name = installNamespace, m.mode.program
	rg.Spec.Adopt = &v1alpha1.Adopt{Mode: v1alpha1.AdoptExplicit}
	var before []string
	for _, obj := range m.objects {
		data, err := json.Marshal(obj)
		if err != nil {
			return nil, err
		}
		node := v1alpha1.Node{
			ID:       idOf(obj),
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

// idOf returns the id of an object's node.
func idOf(obj *unstructured.Unstructured) string {
	return strings.ToLower(obj.GetKind()) + "-" + obj.GetName()
}

// unrecorded is a store without inventories. The inventory of the installation
// would be in the namespace that is part of the installation. The applier finds
// the objects of a graph without an inventory by their labels, but only of the kinds
// in the graph.
type unrecorded struct {
	// left are objects of other kinds that may have been installed.
	left []inventory.Entry
}

// Load returns an inventory with the objects that may be left.
func (u unrecorded) Load(_ context.Context, owner inventory.Owner) (*inventory.Inventory, error) {
	return &inventory.Inventory{Owner: owner, Entries: u.left}, nil
}

// Save does nothing: the labels of the objects take the place of the inventory.
func (unrecorded) Save(context.Context, *inventory.Inventory) error { return nil }

// Remove does nothing.
func (unrecorded) Remove(context.Context, *inventory.Inventory) error { return nil }

// List returns nothing: no other graph owns objects of the installation.
func (unrecorded) List(context.Context, string) ([]*inventory.Inventory, error) { return nil, nil }
