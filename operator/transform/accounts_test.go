package transform_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/roles"
	"github.com/pequod-io/pequod/test/harness"
)

// accounts returns the accounts that the manager may act as.
func (b *env) accounts(ctx context.Context) ([]string, error) {
	var role rbacv1.Role
	err := b.client.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: "pequod-manager-transforms"}, &role)
	var names []string
	for _, rule := range role.Rules {
		if len(rule.ResourceNames) == 0 {
			return nil, errors.New("a rule is for all accounts")
		}
		names = append(names, rule.ResourceNames...)
	}
	return names, err
}

// untilAccounts waits until the manager may act as these accounts.
func (b *env) untilAccounts(want ...string) {
	b.t.Helper()
	harness.Eventually(b.t, patience, func(ctx context.Context) error {
		names, err := b.accounts(ctx)
		if err == nil && fmt.Sprint(names) != fmt.Sprint(want) {
			err = fmt.Errorf("%v", names)
		}
		return err
	})
}

// TestAccountsAreListed checks that the manager lists the accounts of Transforms, and accounts without a Transform, in
// the Role that lets it act as them, and that it creates the Role again after a deletion.
func TestAccountsAreListed(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: "pequod-transform-orphan", Labels: roles.Selector()}})
	b.untilAccounts("pequod-transform-orphan") // without a Transform
	b.create(b.transform("a", b.appModule(`text: string`)))
	b.ready("a")
	b.create(b.transform("b", b.appModule(`text: string`), func(t *v1alpha1.Transform) { t.Spec.Kind = "Other" }))
	b.ready("b")
	b.untilAccounts("pequod-transform-a", "pequod-transform-b", "pequod-transform-orphan")
	if err := b.client.Delete(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: "pequod-manager-transforms"}}); err != nil {
		t.Fatal(err)
	}
	b.untilAccounts("pequod-transform-a", "pequod-transform-b", "pequod-transform-orphan")
	b.edit("a", func(t *v1alpha1.Transform) { t.Spec.ServiceAccountName = "team" })
	b.untilAccounts("pequod-transform-b", "pequod-transform-orphan")
	if err := b.client.Delete(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: "pequod-transform-orphan"}}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error { // the informer shows the deletion some time later
		names, err := b.accounts(ctx)
		if len(names) == 1 {
			return nil
		}
		err = errors.Join(fmt.Errorf("%v", names), err)
		return errors.Join(err, client.IgnoreNotFound(b.client.Delete(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: "pequod-manager-transforms"}})))
	})
	// An empty list would be for all accounts.
	b.edit("b", func(t *v1alpha1.Transform) { t.Spec.ServiceAccountName = "team" })
	harness.Eventually(t, patience, func(ctx context.Context) error {
		names, err := b.accounts(ctx)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(fmt.Errorf("%v", names), err)
	})
}

// TestFormerAccount gives the account that an earlier version made for a Transform of another namespace the same
// rights as the present one: graphs of orphaned instances run as it. That of a Transform with another name
// isn't taken over, and both go with the Transform.
func TestFormerAccount(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	other := b.Unique("other")
	b.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}})
	b.options.Namespace, b.options.Namespaces = other, []string{b.Namespace}
	account := func(name, transform string) *corev1.ServiceAccount {
		labels := roles.Selector()
		labels[v1alpha1.LabelTransform] = transform
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: name, Labels: labels}}
	}
	former := func(transform string) string {
		return "pequod-transform-" + v1alpha1.GraphName(v1alpha1.Group, "Transform", b.Namespace, transform)
	}
	b.create(account(former("app"), "app"))
	b.create(account(former("late"), "early"))
	b.start(b.Config)
	b.create(b.transform("app", b.appModule(`text: string`)))
	b.create(b.transform("late", b.appModule(`text: string`), func(t *v1alpha1.Transform) { t.Spec.Kind = "Late" }))
	b.ready("app")
	b.ready("late")
	for transform, want := range map[string][]string{
		"app":  {roles.Account(other, types.NamespacedName{Namespace: b.Namespace, Name: "app"}).Name, former("app")},
		"late": {roles.Account(other, types.NamespacedName{Namespace: b.Namespace, Name: "late"}).Name},
	} {
		var binding rbacv1.ClusterRoleBinding
		if err := b.client.Get(t.Context(), types.NamespacedName{Name: "pequod:transform:" + b.Namespace + ":" + transform}, &binding); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range binding.Subjects {
			got = append(got, s.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: subjects (-want +got):\n%s", transform, diff)
		}
		if hash := want[0][strings.LastIndexByte(want[0], '-')+1:]; len(hash) != 16 {
			t.Errorf("%s: the hash doesn't have 64 bits", want[0])
		}
	}
	if err := b.client.Delete(t.Context(), b.transform("app", "")); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		var accounts corev1.ServiceAccountList
		if err := b.client.List(ctx, &accounts, client.InNamespace(other), client.MatchingLabels{v1alpha1.LabelTransform: "app"}); err != nil {
			return err
		}
		if n := len(accounts.Items); n > 0 {
			return fmt.Errorf("%d accounts are left", n)
		}
		return nil
	})
}
