package foreign

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/cli-utils/pkg/object"

	"github.com/pequod-io/pequod/internal/jsonlimit"
)

// releaseLimit is the largest decompressed release that is read, in bytes. A Secret
// holds up to 1 MiB, which may decompress to a thousand times as much.
const releaseLimit = 32 << 20

// helmRelease is the part of a stored release that counts here (helm/helm,
// pkg/release/v1).
type helmRelease struct {
	Manifest string `json:"manifest"`
	Hooks    []struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
	} `json:"hooks"`
}

// readHelm reads the manifest of the deployed revision of a release. Helm stores
// revisions in Secrets, or in ConfigMaps if it is configured so.
func (r *Reader) readHelm(ctx context.Context, record *Record) error {
	stored, err := r.deployedRevision(ctx, record.Source)
	if err != nil {
		return err
	}
	release, err := decodeRelease(stored)
	if err != nil {
		return fmt.Errorf("%s: %w", stored.GetName(), err)
	}
	ids, err := manifestObjects(release.Manifest, record.Source.Namespace)
	if err != nil {
		return fmt.Errorf("%s: its manifest: %w", stored.GetName(), err)
	}
	record.Objects = ids
	for _, hook := range release.Hooks {
		record.Notes = append(record.Notes, fmt.Sprintf("hook %s %s is left out: Helm runs hooks and doesn't own their objects", hook.Kind, hook.Name))
	}
	record.Cleanup = "delete the " + stored.GetKind() + "s with the labels owner=helm,name=" + record.Source.Name + ", without 'helm uninstall'"
	return nil
}

// deployedRevision returns the newest revision of a release that is deployed.
func (r *Reader) deployedRevision(ctx context.Context, s Source) (*unstructured.Unstructured, error) {
	selector := "owner=helm,name=" + s.Name
	var revisions []unstructured.Unstructured
	for _, resource := range []string{"secrets", "configmaps"} {
		list, err := r.Objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource}).Namespace(s.Namespace).
			List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil && !(apierrors.IsForbidden(err) && len(revisions) > 0) {
			return nil, err
		}
		if err == nil {
			revisions = append(revisions, list.Items...)
		}
		if len(revisions) > 0 {
			break
		}
	}
	var deployed, newest *unstructured.Unstructured
	for i := range revisions {
		revision := &revisions[i]
		if newest == nil || number(revision) > number(newest) {
			newest = revision
		}
		if revision.GetLabels()["status"] == "deployed" && (deployed == nil || number(revision) > number(deployed)) {
			deployed = revision
		}
	}
	switch {
	case newest == nil:
		return nil, errNotFound
	case deployed == nil:
		return nil, fmt.Errorf("has no deployed revision: revision %d is %s", number(newest), newest.GetLabels()["status"])
	}
	return deployed, nil
}

// number returns the number of a revision.
func number(revision *unstructured.Unstructured) int {
	n, _ := strconv.Atoi(revision.GetLabels()["version"]) // 0 for a label that Helm wouldn't write
	return n
}

// decodeRelease decodes a release: JSON, compressed and in base64. A Secret encodes it
// once more.
func decodeRelease(stored *unstructured.Unstructured) (*helmRelease, error) {
	encoded, _, err := unstructured.NestedString(stored.Object, "data", "release")
	if err != nil || encoded == "" {
		return nil, errors.New("has no release in data.release")
	}
	data := []byte(encoded)
	if stored.GetKind() == "Secret" {
		if data, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return nil, err
		}
	}
	if data, err = base64.StdEncoding.DecodeString(string(data)); err != nil {
		return nil, err
	}
	// Releases of very old versions aren't compressed.
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if data, err = io.ReadAll(io.LimitReader(unzipped, releaseLimit+1)); err != nil {
			return nil, err
		}
		if len(data) > releaseLimit {
			return nil, fmt.Errorf("is larger than %d MiB", releaseLimit>>20)
		}
	}
	release := &helmRelease{}
	if err := jsonlimit.Check(data, jsonlimit.Document); err != nil {
		return nil, err
	}
	return release, json.Unmarshal(data, release)
}

// manifestObjects returns the objects of a multi-document manifest. Those without a
// namespace are in namespace. Lists stand for their items.
func manifestObjects(manifest, namespace string) (object.ObjMetadataSet, error) {
	var ids object.ObjMetadataSet
	add := func(obj *unstructured.Unstructured) error {
		id := object.UnstructuredToObjMetadata(obj)
		if id.GroupKind.Kind == "" || id.Name == "" {
			return errors.New("an object has no kind or no name")
		}
		if id.Namespace == "" {
			id.Namespace = namespace
		}
		ids = append(ids, id)
		return nil
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(manifest)), 4096)
	for {
		obj := &unstructured.Unstructured{}
		err := documents.Decode(&obj.Object)
		switch {
		case errors.Is(err, io.EOF):
			return ids, nil
		case err != nil:
			return nil, err
		case len(obj.Object) == 0: // only a comment
			continue
		case obj.IsList():
			err = obj.EachListItem(func(item runtime.Object) error { return add(item.(*unstructured.Unstructured)) })
		default:
			err = add(obj)
		}
		if err != nil {
			return nil, err
		}
	}
}
