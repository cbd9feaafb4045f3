package harness

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Unique returns a name that no other test uses, for objects outside the test's
// namespace. Within a test, the same prefix gives the same name.
func (c *Cluster) Unique(prefix string) string { return prefix + "-" + c.suffix }

// suffix returns six random digits and lower-case letters that make a name
// unique. Names of tests alone would not, as nameOf shortens them.
func suffix() string {
	const digits = 6
	text := strconv.FormatUint(rand.Uint64(), 36)
	return (text + strings.Repeat("0", digits))[:digits]
}

// nameOf turns the name of the test into a valid namespace name. It is short
// enough to leave room for a unique suffix and for what tests append.
func nameOf(t testing.TB) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		default:
			return '-'
		}
	}, strings.ToLower(t.Name()))
	return strings.Trim(name[:min(len(name), 40)], "-")
}

// makeNamespace creates the test's namespace and waits until Pods can be created
// in it. If the test fails, it logs the warning Events of the namespace. If values
// of Secrets are shown in it, the test fails.
//
// The namespace stays until the server ends. Deleting it took the server a third
// of its time: graphs that nothing executes any more keep their finalizers, so the
// namespace controller went through all kinds again and again.
func (c *Cluster) makeNamespace(t testing.TB) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.Namespace}}
	if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if t.Failed() {
			c.logWarnings(ctx, t)
		}
		c.SearchSecrets(ctx, t)
	})
	Eventually(t, time.Minute, func(ctx context.Context) error {
		_, err := c.Client.CoreV1().ServiceAccounts(c.Namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// logWarnings logs the warning Events of the namespace, such as a Pod whose image
// does not exist. They often explain why a test waited in vain.
func (c *Cluster) logWarnings(ctx context.Context, t testing.TB) {
	events, err := c.Client.CoreV1().Events(c.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "type=Warning"})
	if err != nil {
		t.Logf("events: %v", err)
		return
	}
	for _, event := range events.Items {
		t.Logf("%s %s: %s: %s", event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Reason, event.Message)
	}
}
