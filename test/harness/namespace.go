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

// makeNamespace creates the test's namespace, waits until Pods can be created in
// it, and deletes it at the end of the test. If the test fails, it logs the
// warning Events of the namespace. If values of Secrets are shown in it, the test
// fails.
func (c *Cluster) makeNamespace(t testing.TB) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.Namespace}}
	if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if t.Failed() {
			c.logWarnings(ctx, t)
		}
		c.SearchSecrets(ctx, t)
		// Deleting a namespace takes the server some seconds, and nothing depends
		// on it, so the test does not wait. If the server is gone, so is the
		// namespace.
		_ = c.Client.CoreV1().Namespaces().Delete(ctx, c.Namespace, metav1.DeleteOptions{})
	})
	Eventually(t, 30*time.Second, func(ctx context.Context) error {
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
