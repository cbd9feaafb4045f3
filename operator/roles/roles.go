// Package roles grants the rights of Transforms: each Transform has a service account in the
// manager's namespace, as which the graphs of its instances run.
//
// [Managed] and [Seen] compute the rules, and [Client.Apply] makes the objects. The API server
// lets a manager grant only rights that it has itself, so this package decides nothing about
// what a Transform may do.
package roles

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// accountPrefix begins the names of the accounts of Transforms.
const accountPrefix = "pequod-transform-"

// Account returns the service account of a Transform. It is in the manager's namespace, where
// users of the platform can't use it. Transforms of other namespaces have a hash in the name,
// so that two Transforms with the same name never share rights. Long names are cut, and the hash
// is too long to find another name with the same one.
func Account(manager string, transform types.NamespacedName) types.NamespacedName {
	name := transform.Name
	if transform.Namespace != manager {
		name = v1alpha1.UniqueName(v1alpha1.Group, "Transform", transform.Namespace, transform.Name)
	}
	return types.NamespacedName{Namespace: manager, Name: accountPrefix + name}
}

// formerAccount returns the account that earlier versions made for a Transform, with a shorter hash.
func formerAccount(manager string, transform types.NamespacedName) types.NamespacedName {
	if transform.Namespace == manager {
		return Account(manager, transform)
	}
	return types.NamespacedName{Namespace: manager, Name: accountPrefix + v1alpha1.GraphName(v1alpha1.Group, "Transform", transform.Namespace, transform.Name)}
}

// IsAccount reports whether name is the account of a Transform in the manager's namespace, also
// that of earlier versions.
func IsAccount(manager string, transform types.NamespacedName, name string) bool {
	return name == Account(manager, transform).Name || name == formerAccount(manager, transform).Name
}

// Name returns the name of all roles and bindings of a Transform. Names of objects have no
// colons, so two Transforms never share a role.
func Name(transform types.NamespacedName) string {
	return "pequod:transform:" + transform.Namespace + ":" + transform.Name
}

// Grants are the rights of a Transform.
type Grants struct {
	Rules []rbacv1.PolicyRule
	// Module is kept in the service account, so that [Client.Samples] finds its samples after a
	// restart.
	Module Module
	// Cluster grants the rules in all namespaces, and otherwise they are granted in Namespaces.
	Cluster    bool
	Namespaces []string
}

// Selector selects the objects of this package, for the cache of a manager.
func Selector() map[string]string {
	return map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, labelGenerated: "true"}
}

// Foreign returns a selector of all roles and bindings but those of this package.
func Foreign() string { return labelGenerated + "!=true" }

// labelGenerated marks the roles, bindings and accounts that are generated for Transforms.
const labelGenerated = v1alpha1.Prefix + "generated-rbac"

// Client applies roles. Its reads may come from a cache that has only objects with the labels
// of [Selector].
type Client struct {
	client.Client
	// Namespace is the namespace of the manager.
	Namespace string
	// Written is told each event about an object with the labels of [Selector].
	Written *Written
}

// Apply makes the service account, the roles and the bindings of a Transform exactly those that
// grants needs, and deletes others of this Transform. It writes only what differs. If grants
// is nil, everything is deleted.
func (c Client) Apply(ctx context.Context, transform types.NamespacedName, grants *Grants) error {
	live, err := c.list(ctx, transform)
	if err != nil {
		return err
	}
	accounts := []types.NamespacedName{Account(c.Namespace, transform)}
	// Graphs that no instance owns any more run as the former account for ever.
	if former := formerAccount(c.Namespace, transform); former != accounts[0] && slices.ContainsFunc(live, func(l client.Object) bool { return client.ObjectKeyFromObject(l) == former }) {
		accounts = append(accounts, former)
	}
	wanted := c.objects(transform, grants, accounts)
	for _, object := range wanted {
		// What is as it should be costs no request.
		i := slices.IndexFunc(live, func(l client.Object) bool { return sameObject(l, object) })
		if i >= 0 && same(live[i], object) || c.Written.has(object) {
			continue
		}
		if err := c.apply(ctx, object); err == nil {
			c.Written.add(object)
		} else if !gone(object, err) {
			return err
		}
	}
	// New rights are granted before old ones are removed, so that rights which move from one
	// role to another are never missing.
	var errs []error
	for _, l := range live {
		if !slices.ContainsFunc(wanted, func(o client.Object) bool { return sameObject(l, o) }) {
			errs = append(errs, client.IgnoreNotFound(c.Delete(ctx, l)))
		}
	}
	if err := errors.Join(errs...); err != nil || grants != nil {
		return err
	}
	return c.unlistAccount(ctx, transform)
}

// Former returns the rules that roles of a Transform have and that are not in rules.
func (c Client) Former(ctx context.Context, transform types.NamespacedName, rules []rbacv1.PolicyRule) ([]rbacv1.PolicyRule, error) {
	live, err := c.list(ctx, transform)
	if err != nil {
		return nil, err
	}
	var former []rbacv1.PolicyRule
	for _, object := range live {
		var has []rbacv1.PolicyRule
		switch o := object.(type) {
		case *rbacv1.ClusterRole:
			has = o.Rules
		case *rbacv1.Role:
			has = o.Rules
		}
		for _, rule := range has {
			same := func(other rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(rule, other) }
			if !slices.ContainsFunc(rules, same) && !slices.ContainsFunc(former, same) {
				former = append(former, rule)
			}
		}
	}
	return former, nil
}

// Escalates reports whether err is the API server's refusal of rights that the manager does not
// have itself.
func Escalates(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "attempting to grant RBAC permissions")
}

// ForManager returns a ClusterRole that gives the manager the rules, in one line of JSON. name ends
// its name.
func ForManager(name string, rules []rbacv1.PolicyRule) string {
	role, err := json.Marshal(&rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: "pequod-manager-" + name, Labels: map[string]string{v1alpha1.LabelAggregateManager: "true"}},
		Rules:      rules,
	})
	if err != nil {
		panic(err) // can't happen: a role has only strings
	}
	return string(role)
}

// gone reports whether an object could not be applied because its namespace is being deleted.
func gone(object client.Object, err error) bool {
	return object.GetNamespace() != "" && (apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsNotFound(err))
}

// apply applies an object by server-side apply.
func (c Client) apply(ctx context.Context, object client.Object) error {
	// A typed object would apply empty fields, such as creationTimestamp, as well.
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: fields}
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(v1alpha1.ManagerProgram), client.ForceOwnership)
}

// objects returns the objects that grants needs, the accounts first.
func (c Client) objects(transform types.NamespacedName, grants *Grants, accounts []types.NamespacedName) []client.Object {
	if grants == nil {
		return nil
	}
	// The labels select the objects for the cache, and name the Transform for people.
	labels := Selector()
	labels[v1alpha1.LabelTransform] = v1alpha1.LabelValue(transform.Name)
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}
	}
	kind := func(group schema.GroupVersion, kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: group.String(), Kind: kind}
	}
	var subjects []rbacv1.Subject
	var all []client.Object
	for _, a := range accounts {
		subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: a.Namespace, Name: a.Name})
		account := &corev1.ServiceAccount{TypeMeta: kind(corev1.SchemeGroupVersion, "ServiceAccount"), ObjectMeta: meta(a.Namespace, a.Name)}
		account.Annotations = grants.Module.annotations()
		all = append(all, account)
	}
	name, rbac := Name(transform), rbacv1.SchemeGroupVersion
	// A platform whose graphs are empty needs an account, as which they run, and no role.
	if len(grants.Rules) == 0 {
		return all
	}
	if grants.Cluster {
		return append(all,
			&rbacv1.ClusterRole{TypeMeta: kind(rbac, "ClusterRole"), ObjectMeta: meta("", name), Rules: grants.Rules},
			&rbacv1.ClusterRoleBinding{
				TypeMeta: kind(rbac, "ClusterRoleBinding"), ObjectMeta: meta("", name), Subjects: subjects,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			})
	}
	for _, namespace := range grants.Namespaces {
		all = append(all,
			&rbacv1.Role{TypeMeta: kind(rbac, "Role"), ObjectMeta: meta(namespace, name), Rules: grants.Rules},
			&rbacv1.RoleBinding{
				TypeMeta: kind(rbac, "RoleBinding"), ObjectMeta: meta(namespace, name), Subjects: subjects,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			})
	}
	return all
}

// list returns the objects that a Transform has. Roles and bindings come before the account,
// so that deleting in this order never leaves rights to a new account of the same name.
func (c Client) list(ctx context.Context, transform types.NamespacedName) ([]client.Object, error) {
	account, former := Account(c.Namespace, transform), formerAccount(c.Namespace, transform)
	var all []client.Object
	lists := []client.ObjectList{
		&rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleList{}, &rbacv1.ClusterRoleList{}, &corev1.ServiceAccountList{},
	}
	for _, list := range lists {
		if err := c.List(ctx, list, client.MatchingLabels(Selector())); err != nil {
			return nil, err
		}
		items, err := itemsOf(list)
		if err != nil {
			return nil, err
		}
		for _, object := range items {
			key := client.ObjectKeyFromObject(object)
			// Transforms can share the name of a former account, if they differ in a part that was cut.
			isFormer := key == former && object.GetLabels()[v1alpha1.LabelTransform] == v1alpha1.LabelValue(transform.Name)
			if key == account || isFormer || key.Name == Name(transform) {
				all = append(all, object)
			}
		}
	}
	return all, nil
}

// same reports whether applying an object would change nothing.
func same(live, object client.Object) bool {
	for key, value := range object.GetLabels() {
		if live.GetLabels()[key] != value {
			return false
		}
	}
	switch o := object.(type) {
	case *corev1.ServiceAccount:
		return o.Annotations[annotationModule] == live.GetAnnotations()[annotationModule]
	case *rbacv1.ClusterRole:
		return equality.Semantic.DeepEqual(o.Rules, live.(*rbacv1.ClusterRole).Rules)
	case *rbacv1.Role:
		return equality.Semantic.DeepEqual(o.Rules, live.(*rbacv1.Role).Rules)
	case *rbacv1.ClusterRoleBinding:
		l := live.(*rbacv1.ClusterRoleBinding)
		return o.RoleRef == l.RoleRef && equality.Semantic.DeepEqual(o.Subjects, l.Subjects)
	case *rbacv1.RoleBinding:
		l := live.(*rbacv1.RoleBinding)
		return o.RoleRef == l.RoleRef && equality.Semantic.DeepEqual(o.Subjects, l.Subjects)
	}
	return true
}
