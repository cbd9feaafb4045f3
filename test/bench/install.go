package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

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

// system is the namespace of the applier, and system's account its own.
const (
	system  = "pequod-system"
	account = "pequod-applier"
)

// install applies what pequod install does, lets the applier watch every kind, as
// the overlay single-tenant does, and gets access as its account.
func (c *controlPlane) install(ctx context.Context) error {
	if err := c.applyAll(ctx, config.Applier); err != nil {
		return err
	}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-watch", Labels: map[string]string{"pequod.io/aggregate-to-applier": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}},
	}
	if _, err := c.client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	// Its definition is there, but served only a while later.
	if err := poll(ctx, func() (bool, error) {
		err := c.client.RbacV1().RESTClient().Get().AbsPath("/apis", resourceGraphs.apiVersion, resourceGraphs.resource).Do(ctx).Error()
		return err == nil, nil
	}); err != nil {
		return err
	}
	hours := int64(24 * 60 * 60)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hours}}
	token, err := c.client.CoreV1().ServiceAccounts(system).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	c.as = rest.AnonymousClientConfig(c.config)
	c.as.BearerToken = token.Status.Token
	return nil
}

// applyAll applies YAML documents, in their order.
func (c *controlPlane) applyAll(ctx context.Context, documents []byte) error {
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
		var to dynamic.ResourceInterface = client.Resource(mapping.Resource)
		if obj.GetNamespace() != "" {
			to = client.Resource(mapping.Resource).Namespace(obj.GetNamespace())
		}
		if _, err := to.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: "bench"}); err != nil {
			return fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
	}
}

// tenant makes a namespace with an account that may do anything in it, which its
// graphs are executed as.
func (c *controlPlane) tenant(ctx context.Context, who string) (string, error) {
	namespace, err := c.namespace(ctx, who)
	if err != nil {
		return "", err
	}
	if err := c.applyAll(ctx, fmt.Appendf(nil, `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: pequod, namespace: %[1]s}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: pequod, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: pequod, namespace: %[1]s}]
`, namespace)); err != nil {
		return "", err
	}
	return namespace, nil
}

// withdraw removes the graphs of a namespace, which nobody executes, and leaves
// their objects.
func (c *controlPlane) withdraw(ctx context.Context, namespace string) error {
	return c.client.CoreV1().RESTClient().Delete().
		AbsPath("/apis", resourceGraphs.apiVersion, "namespaces", namespace, resourceGraphs.resource).Do(ctx).Error()
}

// poll asks until it is so.
func poll(ctx context.Context, so func() (bool, error)) error {
	for {
		if yes, err := so(); yes || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
