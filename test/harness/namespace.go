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

// Unique is a name that no other test uses, for what isn't in the test's
// namespace. The same prefix gives the same name within a test.
func (c *Cluster) Unique(prefix string) string { return prefix + "-" + c.suffix }

func suffix() string {
	const digits = 6
	text := strconv.FormatUint(rand.Uint64(), 36)
	return (text + strings.Repeat("0", digits))[:digits]
}

// nameOf is the test's name as a namespace may have it, cut to leave room for
// what makes it unique and for what tests append to it.
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

// makeNamespace makes the test's namespace, waits until Pods can be made in
// it, and sees to its end. If the test fails, what the cluster complained
// about in it is logged.
func (c *Cluster) makeNamespace(t testing.TB) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.Namespace}}
	if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if t.Failed() {
			c.logWarnings(ctx, t)
		}
		// Nobody waits for the end of the namespace, which takes the server some
		// seconds; and if the server is gone, so is the namespace.
		_ = c.Client.CoreV1().Namespaces().Delete(ctx, c.Namespace, metav1.DeleteOptions{})
	})
	Eventually(t, 30*time.Second, func(ctx context.Context) error {
		_, err := c.Client.CoreV1().ServiceAccounts(c.Namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

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
