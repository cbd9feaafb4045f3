package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// checkPlatforms returns an error unless the cluster has exactly the CRDs, service accounts and
// roles of the Transforms.
func (f *Fleet) checkPlatforms(ctx context.Context) error {
	want, got := map[string]string{}, map[string]string{}
	for _, p := range f.platforms {
		if p.exists {
			want["account "+p.name], want["CRD "+p.crd()] = "", fmt.Sprintf("%d fields", 3+p.fields)
			for _, kind := range p.roles() {
				want[kind+" "+p.name] = "configmaps, jobs"
				want[kind+"Binding "+p.name] = ""
			}
		}
	}
	const generated = "pequod.io/generated-rbac=true"
	accounts, err := f.c.Client.CoreV1().ServiceAccounts("").List(ctx, metav1.ListOptions{LabelSelector: generated})
	if err != nil {
		return err
	}
	for _, a := range accounts.Items {
		got["account "+strings.TrimPrefix(a.Name, "pequod-transform-")] = ""
	}
	if err := f.addRoles(ctx, generated, got); err != nil {
		return err
	}
	crds := f.c.Dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	list, err := crds.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		crd := &list.Items[i]
		if g, _, _ := unstructured.NestedString(crd.Object, "spec", "group"); g != group {
			continue
		}
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		fields, _, _ := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec", "properties")
		got["CRD "+crd.GetName()] = fmt.Sprintf("%d fields", len(fields))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("CRDs, accounts and roles (-want +got):\n%s", diff)
	}
	return nil
}

// roles returns the kind of the role that a platform should have, if it should have one: those
// with rbacScope Namespace have one in each namespace with instances.
func (p *platform) roles() []string {
	if !strings.Contains(p.rights, "Namespace") {
		return []string{"ClusterRole"}
	}
	if slices.ContainsFunc(p.instances, func(i *instance) bool { return i.exists }) {
		return []string{"Role"}
	}
	return nil
}

// addRoles adds the generated roles to got, with the resources that they let an account
// change.
func (f *Fleet) addRoles(ctx context.Context, generated string, got map[string]string) error {
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"} {
		resource := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: strings.ToLower(kind) + "s"}
		list, err := f.c.Dynamic.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: generated})
		if err != nil {
			return err
		}
		for i := range list.Items {
			role := &list.Items[i]
			if role.GetLabels()["pequod.io/transform"] == "" {
				continue // it lists the accounts of all Transforms, and without it no graph would be ready
			}
			name := strings.TrimPrefix(role.GetName(), "pequod:transform:"+f.namespace+":")
			got[kind+" "+name] += strings.Join(changed(role), ", ")
		}
	}
	return nil
}

// changed returns the resources that a role lets an account change.
func changed(role *unstructured.Unstructured) []string {
	var all []string
	rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
	for _, r := range rules {
		rule := r.(map[string]any)
		verbs, _, _ := unstructured.NestedStringSlice(rule, "verbs")
		resources, _, _ := unstructured.NestedStringSlice(rule, "resources")
		if slices.Contains(verbs, "patch") {
			all = append(all, resources...)
		}
	}
	slices.Sort(all)
	return all
}
