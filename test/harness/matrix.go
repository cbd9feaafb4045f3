package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Target is an object that a token is tried on, with the answers that are expected.
type Target struct {
	// Manifest is the object, with the name NAME. Without a namespace, it is in the test's.
	Manifest string
	// Allowed are the verbs that the token has, separated by blanks. The verb status patches the
	// status, and names with a slash create a subresource, such as /token.
	Allowed string
	// Patch is the merge patch of the verb patch; by default one that adds an annotation.
	Patch string
	// Live is the name of an object that exists. If it is empty, the administrator creates one.
	Live string
}

// tried are the verbs that are tried on each target.
var tried = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "status"}

// TryToken sends every verb for every target to the API server with the given access, as dry runs, and
// reports answers other than expected. It returns how many requests were expected to be allowed,
// and to be refused.
func (c *Cluster) TryToken(t testing.TB, access *rest.Config, targets []Target) (allowed, refused int) {
	t.Helper()
	access = rest.CopyConfig(access)
	access.QPS = -1
	client, err := dynamic.NewForConfig(access)
	if err != nil {
		t.Fatal(err)
	}
	var inside, outside atomic.Int64
	var group errgroup.Group
	group.SetLimit(32)
	for i, target := range targets {
		name := target.Live
		if name == "" {
			name = fmt.Sprintf("tried%d", i)
			c.Apply(t, strings.ReplaceAll(target.Manifest, "NAME", name))
		}
		objects, err := decode(strings.ReplaceAll(target.Manifest, "NAME", name) + "\n---\n" + strings.ReplaceAll(target.Manifest, "NAME", fmt.Sprintf("untried%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		live, fresh := objects[0], objects[1]
		verbs := strings.Fields(target.Allowed)
		for _, verb := range slices.Concat(tried, slices.DeleteFunc(slices.Clone(verbs), func(v string) bool { return !strings.HasPrefix(v, "/") })) {
			group.Go(func() error {
				err := c.try(t.Context(), client, verb, live, fresh, target.Patch)
				want := slices.Contains(verbs, verb)
				if want {
					inside.Add(1)
				} else {
					outside.Add(1)
				}
				if apierrors.IsForbidden(err) == want || want && (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) {
					t.Errorf("%s%s: %s %s %s in %q: %v; want it allowed: %t", access.Impersonate.UserName, target.Allowed, verb, live.GetKind(), live.GetName(), live.GetNamespace(), err, want)
				}
				return nil
			})
		}
	}
	_ = group.Wait() // errors were reported
	return int(inside.Load()), int(outside.Load())
}

// try sends one request.
func (c *Cluster) try(ctx context.Context, client dynamic.Interface, verb string, live, fresh *unstructured.Unstructured, patch string) error {
	mapping, err := c.mapper.RESTMapping(live.GroupVersionKind().GroupKind(), live.GroupVersionKind().Version)
	if err != nil {
		return err
	}
	objects := dynamic.ResourceInterface(client.Resource(mapping.Resource))
	admin := dynamic.ResourceInterface(c.Dynamic.Resource(mapping.Resource))
	if namespace := live.GetNamespace(); mapping.Scope.Name() == "namespace" {
		if namespace == "" {
			namespace = c.Namespace
		}
		objects, admin = client.Resource(mapping.Resource).Namespace(namespace), c.Dynamic.Resource(mapping.Resource).Namespace(namespace)
	}
	if patch == "" {
		patch = `{"metadata":{"annotations":{"example.com/tried":"yes"}}}`
	}
	dry := []string{metav1.DryRunAll}
	one := metav1.SingleObject(metav1.ObjectMeta{Name: live.GetName()})
	switch verb {
	case "get":
		_, err = objects.Get(ctx, live.GetName(), metav1.GetOptions{})
	case "list":
		_, err = objects.List(ctx, metav1.ListOptions{Limit: 1})
	case "watch":
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		_, err = objects.Watch(ctx, metav1.ListOptions{})
	case "create":
		_, err = objects.Create(ctx, fresh.DeepCopy(), metav1.CreateOptions{DryRun: dry})
	case "update":
		now, missing := admin.Get(ctx, live.GetName(), metav1.GetOptions{})
		if missing != nil {
			now = live.DeepCopy()
		}
		now.SetAnnotations(map[string]string{"example.com/tried": "yes"})
		_, err = objects.Update(ctx, now, metav1.UpdateOptions{DryRun: dry})
	case "patch":
		_, err = objects.Patch(ctx, live.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: dry})
	case "status":
		_, err = objects.Patch(ctx, live.GetName(), types.MergePatchType, []byte(`{"status":{}}`), metav1.PatchOptions{DryRun: dry}, "status")
	case "delete":
		err = objects.Delete(ctx, live.GetName(), metav1.DeleteOptions{DryRun: dry})
	case "deletecollection":
		err = objects.DeleteCollection(ctx, metav1.DeleteOptions{DryRun: dry}, one)
	default:
		_, err = objects.Create(ctx, fresh.DeepCopy(), metav1.CreateOptions{DryRun: dry}, strings.TrimPrefix(verb, "/"))
	}
	return err
}
