package rights

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// right is one verb of one rule of a role that is bound to the account of a program.
type right struct {
	namespace, role string // no namespace: a ClusterRole
	rule            rbacv1.PolicyRule
	verb            string
}

func (r right) String() string {
	resources := r.rule.Resources
	if len(r.rule.APIGroups) > 0 && r.rule.APIGroups[0] != "" {
		resources = []string{strings.Join(resources, ",") + "." + r.rule.APIGroups[0]}
	}
	return fmt.Sprintf("%s %s (%s)", r.verb, strings.Join(resources, ","), r.role)
}

// reads reports whether the program learns something by the right. Without a right to write, a
// condition that was true before can't be changed.
func (r right) reads() bool {
	return slices.Contains([]string{"get", "list", "watch", "impersonate"}, r.verb)
}

// world is what a program works on.
type world interface {
	// change changes everything: the specs, and behind the back of the program what it has made.
	change(t *testing.T, n int)
	// settled returns why a condition isn't True of the n-th change yet.
	settled(ctx context.Context, n int) error
	// lie returns what a condition claims of its own generation that isn't so, or nil.
	lie(ctx context.Context) error
}

// patience bounds how long a program may take to find out on a busy machine.
const patience = 3 * time.Minute

// longest is how long it may take to recover. Pauses after failures are up to 30 seconds; rights that
// are back end them.
const longest = 15 * time.Second

// kept is a program that is started again when it ends, as a kubelet does.
type kept struct {
	start   func() *process.Process
	now     *process.Process
	started time.Time
}

// keep starts a program.
func keep(t *testing.T, start func() *process.Process) *kept {
	t.Helper()
	k := &kept{start: start}
	k.tend()
	k.now.Ready(t)
	return k
}

// tend starts the program again if it has ended, ten seconds after the last time at the earliest.
func (k *kept) tend() {
	if k.now != nil {
		select {
		case <-k.now.Done:
		default:
			return
		}
		if time.Since(k.started) < 10*time.Second {
			return
		}
	}
	k.started = time.Now()
	k.now = k.start()
}

// takeAway takes the rights of a program away, each in turn for a minute.
func takeAway(t *testing.T, c *harness.Cluster, proxy *faults.Proxy, program *kept, account string, w world) {
	t.Helper()
	settle := func(n int) {
		t.Helper()
		harness.Eventually(t, patience, func(ctx context.Context) error {
			program.tend()
			return w.settled(ctx, n)
		})
	}
	w.change(t, 0)
	settle(0)
	tried := 0
	for _, r := range rightsOf(t, c, account) {
		tried++
		t.Logf("without %s", r)
		set(t, c, r, false)
		// Open watches go on without the right, so they are cut, as they are from time to time.
		if err := proxy.Down(); err != nil {
			t.Fatal(err)
		}
		if err := proxy.Up(); err != nil {
			t.Fatal(err)
		}
		w.change(t, tried)
		if r.reads() {
			harness.Eventually(t, patience, func(ctx context.Context) error {
				program.tend()
				return w.lie(ctx)
			})
		}
		hold(t, r, program, w)
		set(t, c, r, true)
		began := time.Now()
		settle(tried)
		took := time.Since(began).Round(100 * time.Millisecond)
		t.Logf("recovered after %s", took)
		if took > longest {
			t.Errorf("without %s: recovered after %s; want at most %s", r, took, longest)
		}
	}
	if tried == 0 {
		t.Errorf("%s has no rights", account)
	}
}

// hold watches for a minute that no condition lies for longer than half of that.
func hold(t *testing.T, r right, program *kept, w world) {
	t.Helper()
	var since time.Time
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		program.tend()
		switch err := w.lie(t.Context()); {
		case err == nil || !r.reads():
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > 30*time.Second:
			t.Errorf("without %s: %v", r, err)
			return
		}
	}
}

// rightsOf returns the verbs of all rules that are bound to an account in the namespace of the programs.
func rightsOf(t *testing.T, c *harness.Cluster, account string) []right {
	t.Helper()
	bound := func(subjects []rbacv1.Subject) bool {
		return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
			return s.Kind == "ServiceAccount" && s.Name == account && s.Namespace == process.Namespace
		})
	}
	var all []right
	add := func(namespace, role string, rules []rbacv1.PolicyRule) {
		for _, rule := range rules {
			for _, verb := range rule.Verbs {
				all = append(all, right{namespace, role, rule, verb})
			}
		}
	}
	cluster, err := c.Client.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range cluster.Items {
		if !bound(b.Subjects) {
			continue
		}
		for _, role := range sources(t, c, b.RoleRef.Name) {
			add("", role.Name, role.Rules)
		}
	}
	local, err := c.Client.RbacV1().RoleBindings(process.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range local.Items {
		if !bound(b.Subjects) {
			continue
		}
		if b.RoleRef.Kind == "ClusterRole" {
			for _, role := range sources(t, c, b.RoleRef.Name) {
				add("", role.Name, role.Rules)
			}
			continue
		}
		role, err := c.Client.RbacV1().Roles(process.Namespace).Get(t.Context(), b.RoleRef.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		add(process.Namespace, role.Name, role.Rules)
	}
	return all
}

// sources returns a ClusterRole, or those that it aggregates.
func sources(t *testing.T, c *harness.Cluster, name string) []rbacv1.ClusterRole {
	t.Helper()
	role, err := c.Client.RbacV1().ClusterRoles().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if role.AggregationRule == nil {
		return []rbacv1.ClusterRole{*role}
	}
	var all []rbacv1.ClusterRole
	for _, selector := range role.AggregationRule.ClusterRoleSelectors {
		list, err := c.Client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&selector)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list.Items...)
	}
	return all
}

// set removes a verb from its rule, or adds it again.
func set(t *testing.T, c *harness.Cluster, r right, granted bool) {
	t.Helper()
	edit := func(rules []rbacv1.PolicyRule) {
		for i := range rules {
			if !slices.Equal(rules[i].APIGroups, r.rule.APIGroups) || !slices.Equal(rules[i].Resources, r.rule.Resources) || !slices.Equal(rules[i].ResourceNames, r.rule.ResourceNames) {
				continue
			}
			rules[i].Verbs = slices.DeleteFunc(slices.Clone(r.rule.Verbs), func(verb string) bool { return verb == r.verb && !granted })
			if len(rules[i].Verbs) == 0 {
				rules[i].Verbs = []string{"none"} // a rule needs a verb
			}
		}
	}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if r.namespace == "" {
			role, err := c.Client.RbacV1().ClusterRoles().Get(t.Context(), r.role, metav1.GetOptions{})
			if err != nil {
				return err
			}
			edit(role.Rules)
			_, err = c.Client.RbacV1().ClusterRoles().Update(t.Context(), role, metav1.UpdateOptions{})
			return err
		}
		role, err := c.Client.RbacV1().Roles(r.namespace).Get(t.Context(), r.role, metav1.GetOptions{})
		if err != nil {
			return err
		}
		edit(role.Rules)
		_, err = c.Client.RbacV1().Roles(r.namespace).Update(t.Context(), role, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
