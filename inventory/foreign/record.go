package foreign

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/cli-utils/pkg/object"
)

// Record is what an inventory says.
type Record struct {
	Source Source
	// Objects are the objects that the tool owns, sorted and each once. Namespaces are
	// those of the objects: empty for cluster-scoped ones.
	Objects object.ObjMetadataSet
	// Keeps is set if the tool is configured to delete nothing, with the setting.
	Keeps string
	// Stop is the step after which the tool changes nothing any more, "" if it acts only
	// when the user calls it. Cleanup removes the inventory and none of its objects.
	Stop, Cleanup string
	// Notes are facts about the inventory that the user should know.
	Notes []string
}

// Reader reads inventories from a cluster.
type Reader struct {
	Objects dynamic.Interface
	// Mapper knows the kinds of the cluster, in the versions that it serves.
	Mapper meta.RESTMapper
}

// Read returns the record of an inventory. It is an error if the inventory doesn't
// exist or has a form that isn't known: an inventory that is read in part would
// make objects look as if they were nobody's.
func (r *Reader) Read(ctx context.Context, s Source) (*Record, error) {
	read := map[Tool]func(context.Context, *Record) error{
		Flux: r.readFlux, Kpt: r.readKpt, CLIUtils: r.readCLIUtils, ArgoCD: r.readArgo, Kapp: r.readKapp, Helm: r.readHelm,
	}[s.Tool]
	record := &Record{Source: s}
	if err := read(ctx, record); err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	if err := r.complete(record); err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	return record, nil
}

// complete removes the namespaces of cluster-scoped objects, sorts the objects and
// removes duplicates. An object of a kind that isn't served any more is left as it is.
func (r *Reader) complete(record *Record) error {
	for i := range record.Objects {
		id := &record.Objects[i]
		mapping, err := r.Mapper.RESTMapping(id.GroupKind)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return err
		}
		if mapping.Scope.Name() == meta.RESTScopeNameRoot {
			id.Namespace = ""
		}
	}
	slices.SortFunc(record.Objects, func(a, b object.ObjMetadata) int {
		return cmp.Or(cmp.Compare(a.GroupKind.String(), b.GroupKind.String()), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	record.Objects = slices.Compact(record.Objects)
	return nil
}

// Live returns an object as it is, in the version that the cluster prefers. It returns
// nil if the object or its kind doesn't exist.
func (r *Reader) Live(ctx context.Context, id object.ObjMetadata) (*unstructured.Unstructured, error) {
	mapping, err := r.Mapper.RESTMapping(id.GroupKind)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.get(ctx, mapping.Resource, id.Namespace, id.Name)
}

// get returns one object, nil if it doesn't exist.
func (r *Reader) get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	obj, err := r.Objects.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return obj, err
}

// holder returns the object with an inventory, in the version that the cluster
// prefers.
func (r *Reader) holder(ctx context.Context, s Source, gk schema.GroupKind) (*unstructured.Unstructured, error) {
	mapping, err := r.Mapper.RESTMapping(gk)
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the cluster knows no %s; is %s installed?", gk, s.Tool.Title())
	}
	if err != nil {
		return nil, err
	}
	obj, err := r.get(ctx, mapping.Resource, s.Namespace, s.Name)
	if err == nil && obj == nil {
		return nil, errNotFound
	}
	return obj, err
}

var errNotFound = fmt.Errorf("does not exist")
