package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/pequod-io/pequod/config"
)

// The namespace and the service account of the applier, as config.Applier names
// them.
const (
	system  = "pequod-system"
	account = "pequod-applier"
)

// install prepares a new control plane for the applier:
//
// 1. It applies the manifests of `pequod install`.
//
// 2. It lets the applier watch every kind, as the overlay single-tenant does.
//
// 3. It waits until the API server serves ResourceGraphs.
//
// 4. It sets applierConfig to the access of the applier's service account.
func (c *controlPlane) install(ctx context.Context) error {
	if err := c.apply(ctx, config.Applier); err != nil {
		return err
	}
	// The label aggregates these rules into the applier's own ClusterRole.
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-watch", Labels: map[string]string{"pequod.io/aggregate-to-applier": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}},
	}
	if _, err := c.client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	// The API server serves a new kind a moment after its CRD was created.
	if err := poll(ctx, func() (bool, error) {
		err := c.client.RbacV1().RESTClient().Get().AbsPath("/apis", resourceGraphs.apiVersion, resourceGraphs.resource).Do(ctx).Error()
		return err == nil, nil
	}); err != nil {
		return err
	}
	day := int64(24 * 60 * 60) // seconds; longer than any benchmark
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}
	token, err := c.client.CoreV1().ServiceAccounts(system).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	c.applierConfig = rest.AnonymousClientConfig(c.config)
	c.applierConfig.BearerToken = token.Status.Token
	return nil
}

// apply applies YAML documents in their order, as the administrator. It asks for
// the served kinds once, before the first document, so a document cannot use a
// kind that an earlier one defines.
func (c *controlPlane) apply(ctx context.Context, documents []byte) error {
	resources, err := restmapper.GetAPIGroupResources(c.client.Discovery())
	if err != nil {
		return err
	}
	mapper := restmapper.NewDiscoveryRESTMapper(resources)
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return err
	}
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(documents), 4096); ; {
		obj := &unstructured.Unstructured{}
		if err := d.Decode(obj); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		gvk := obj.GroupVersionKind()
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return err
		}
		var resource dynamic.ResourceInterface = client.Resource(mapping.Resource)
		if obj.GetNamespace() != "" {
			resource = client.Resource(mapping.Resource).Namespace(obj.GetNamespace())
		}
		if _, err := resource.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: "bench"}); err != nil {
			return fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
	}
}
