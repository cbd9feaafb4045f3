package harness

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AwaitEvent waits until there is an Event about an object in the test's namespace
// with a reason and with a part of its note.
func (c *Cluster) AwaitEvent(t testing.TB, timeout time.Duration, kind, name, reason, note string) {
	t.Helper()
	Eventually(t, timeout, func(ctx context.Context) error {
		events, err := c.Client.EventsV1().Events(c.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var seen []string
		for _, e := range events.Items {
			if e.Regarding.Kind != kind || e.Regarding.Name != name {
				continue
			}
			seen = append(seen, e.Reason+": "+e.Note)
			if e.Reason == reason && strings.Contains(e.Note, note) {
				return nil
			}
		}
		return fmt.Errorf("no Event %s of %s %s with %q; but %s", reason, kind, name, note, strings.Join(seen, "\n"))
	})
}
