package roles

import (
	"context"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// impersonation is the Role in the manager's namespace that lets it act as the accounts of Transforms, by
// their names. Others of the namespace, such as that of pequod-applier, are not the manager's to act as.
// RBAC can't name a prefix, so the Role lists all accounts. The shipped manifests bind it to the manager and
// let it write the Role's rules, which the policy pequod-manager limits to this.
const impersonation = "pequod-manager-transforms"

// MayListAccounts is the right to list accounts in the Role that lets the manager act as them. A manager without it
// has another way to act as accounts, such as constrained impersonation.
func MayListAccounts(namespace string) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{Namespace: namespace, Group: rbacv1.GroupName, Resource: "roles", Name: impersonation, Verb: "escalate"}
}

// ListAccounts lists the accounts that exist, and one that was just made or "", in the Role that lets the manager act
// as them. It costs no request if they are listed. may reports whether the manager has the right of [MayListAccounts].
func (c Client) ListAccounts(ctx context.Context, account string, may func(context.Context) (bool, error)) error {
	return c.relist(ctx, func(names []string) ([]string, error) {
		var accounts corev1.ServiceAccountList
		if err := c.List(ctx, &accounts, client.InNamespace(c.Namespace), client.MatchingLabels(Selector())); err != nil {
			return nil, err
		}
		if account != "" {
			accounts.Items = append(accounts.Items, corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}})
		}
		// Accounts that another worker has just made may be missing in the cache, so no name is removed.
		all := slices.Clone(names)
		for _, a := range accounts.Items {
			if strings.HasPrefix(a.Name, accountPrefix) && !slices.Contains(names, a.Name) {
				all = append(all, a.Name)
			}
		}
		if len(all) == len(names) {
			return names, nil
		}
		if allowed, err := may(ctx); err != nil || !allowed {
			return names, err
		}
		return all, nil
	})
}

// unlistAccount removes the accounts of a Transform from the Role.
func (c Client) unlistAccount(ctx context.Context, transform types.NamespacedName) error {
	return c.relist(ctx, func(names []string) ([]string, error) {
		return slices.DeleteFunc(names, func(name string) bool { return IsAccount(c.Namespace, transform, name) }), nil
	})
}

// relist changes the names that the Role lists, by server-side apply: RBAC can't allow a name to create something
// by a request that has none. If the Role was changed meanwhile, the error is a conflict.
func (c Client) relist(ctx context.Context, change func([]string) ([]string, error)) error {
	var live rbacv1.Role
	err := c.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: impersonation}, &live)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	var before []string
	for _, rule := range live.Rules {
		before = append(before, rule.ResourceNames...)
	}
	names, err := change(slices.Clone(before))
	if err != nil {
		return err
	}
	slices.Sort(names)
	if names = slices.Compact(names); slices.Equal(names, before) {
		return nil
	}
	if len(names) == 0 { // a rule without names is for all accounts
		return client.IgnoreNotFound(c.Delete(ctx, &live, client.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion}))
	}
	role := &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: impersonation, Labels: Selector(), ResourceVersion: live.ResourceVersion},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"impersonate"}, ResourceNames: names}},
	}
	return c.apply(ctx, role)
}
