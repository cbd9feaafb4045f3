package configmap

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// The requests below are plain JSON over HTTP. The type registry of a generated
// client would cost more at the start of a command than everything that this
// package does.
//
// path returns the API path of the ConfigMaps in a namespace, or in all
// namespaces if namespace is empty.
func path(namespace string) string {
	if namespace == "" {
		return "/api/v1/configmaps"
	}
	return "/api/v1/namespaces/" + namespace + "/configmaps"
}

func (s *Store) list(ctx context.Context, namespace, selector string) ([]corev1.ConfigMap, error) {
	var list corev1.ConfigMapList
	err := s.do(ctx, s.client.Get().AbsPath(path(namespace)).Param("labelSelector", selector), nil, &list)
	return list.Items, err
}

func (s *Store) get(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	object := &corev1.ConfigMap{}
	return object, s.do(ctx, s.client.Get().AbsPath(path(namespace), name), nil, object)
}

func (s *Store) create(ctx context.Context, object *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	object.APIVersion, object.Kind = "v1", "ConfigMap"
	stored := &corev1.ConfigMap{}
	request := s.client.Post().AbsPath(path(object.Namespace)).Param("fieldManager", fieldManager).
		SetHeader("Content-Type", "application/json")
	return stored, s.do(ctx, request, object, stored)
}

// patch sends a merge patch and returns the result.
func (s *Store) patch(ctx context.Context, namespace, name string, patch headPatch) (*corev1.ConfigMap, error) {
	stored := &corev1.ConfigMap{}
	request := s.client.Patch(types.MergePatchType).AbsPath(path(namespace), name).Param("fieldManager", fieldManager)
	return stored, s.do(ctx, request, patch, stored)
}

func (s *Store) remove(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error {
	options.APIVersion, options.Kind = "v1", "DeleteOptions"
	request := s.client.Delete().AbsPath(path(namespace), name).SetHeader("Content-Type", "application/json")
	return s.do(ctx, request, options, nil)
}

// The media types of answers. The second has no data.
const (
	wholeObjects = "application/json"
	metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// do sends a request with body, unless body is nil, and decodes the response into
// answer, unless answer is nil. Every request has the store's timeout.
func (s *Store) do(ctx context.Context, request *rest.Request, body, answer any) error {
	return s.doFor(ctx, wholeObjects, request, body, answer)
}

// doFor is do for an answer of a media type.
func (s *Store) doFor(ctx context.Context, accept string, request *rest.Request, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	request.SetHeader("Accept", accept)
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		request.Body(text)
	}
	text, err := request.Do(ctx).Raw()
	if err != nil {
		return serverError(text, err)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("the API server's answer: %w", err)
	}
	return nil
}

// serverError returns the error that the API server sent in its response. The
// client decodes it only if the client was configured for this API group and
// encoding.
func serverError(answer []byte, err error) error {
	var status metav1.Status
	if json.Unmarshal(answer, &status) == nil && status.Status == metav1.StatusFailure {
		return &apierrors.StatusError{ErrStatus: status}
	}
	return err
}
