package outbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

const (
	// slack is how much older a message may be than one that was sent before it.
	slack = time.Minute
	// maxIDs is the number of ids that a mark has, of messages that were sent and aren't before its time.
	maxIDs = 2000
	// markEvery is the time between two writes of the mark.
	markEvery = 5 * time.Second
	// annotationSent has the digests of the ids of a mark.
	annotationSent = "pequod.io/sent"
)

// Mark is how far messages were sent.
type Mark struct {
	// UpTo is the time before which nothing is left to be sent. It is zero if nothing was ever sent.
	UpTo time.Time
	// IDs are digests of the ids of the last messages that were sent.
	IDs []string
}

// Marks keep a mark.
type Marks interface {
	Read(context.Context) (Mark, error)
	Write(context.Context, Mark) error
}

// Lease keeps a mark in a Lease, whose name is that of the outbox.
type Lease struct {
	Client coordination.LeaseInterface
	Name   string
}

// Read implements [Marks].
func (l Lease) Read(ctx context.Context) (Mark, error) {
	lease, err := l.Client.Get(ctx, l.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Mark{}, nil
	}
	if err != nil || lease.Spec.RenewTime == nil {
		return Mark{}, err
	}
	return Mark{lease.Spec.RenewTime.Time, strings.Fields(lease.Annotations[annotationSent])}, nil
}

// Write implements [Marks].
func (l Lease) Write(ctx context.Context, m Mark) error {
	next := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: l.Name, Annotations: map[string]string{annotationSent: strings.Join(m.IDs, " ")}},
		Spec:       coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: m.UpTo}},
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": next.Annotations}, "spec": next.Spec})
	if err != nil {
		return err
	}
	// Without a resource version, since only the leader writes it.
	_, err = l.Client.Patch(ctx, l.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = l.Client.Create(ctx, next, metav1.CreateOptions{})
	}
	return err
}

// record has the messages that were sent last.
type record struct {
	latest time.Time
	ids    map[string]time.Time
}

func (r *record) has(digest string) bool { _, ok := r.ids[digest]; return ok }

// add adds a message.
func (r *record) add(digest string, at time.Time) {
	if r.ids == nil {
		r.ids = map[string]time.Time{}
	}
	if at.After(r.latest) {
		r.latest = at
	}
	r.ids[digest] = at
}

// digestOf returns a short digest of an id.
func digestOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:6])
}

// mark returns how far messages were sent, and forgets those that were sent long before. The mutex is held.
func (b *Outbox) mark() Mark {
	m := Mark{UpTo: b.sent.latest}
	if m.UpTo.IsZero() {
		m.UpTo = b.since // a process that sends nothing has no gap, either
	}
	for _, w := range b.waiting {
		if w.At.Before(m.UpTo) {
			m.UpTo = w.At
		}
	}
	for digest, at := range b.sent.ids {
		if at.Before(m.UpTo.Add(-slack)) {
			delete(b.sent.ids, digest)
			continue
		}
		m.IDs = append(m.IDs, digest)
	}
	slices.SortFunc(m.IDs, func(x, y string) int { return b.sent.ids[y].Compare(b.sent.ids[x]) })
	m.IDs = m.IDs[:min(len(m.IDs), maxIDs)]
	slices.Sort(m.IDs)
	return m
}

// keepMark writes the mark when it has changed, and at the end.
func (b *Outbox) keepMark(ctx context.Context) {
	var last Mark
	write := func(ctx context.Context) {
		b.mu.Lock()
		begun, next := b.begun, b.mark()
		b.mu.Unlock()
		if !begun || next.UpTo.Equal(last.UpTo) && slices.Equal(next.IDs, last.IDs) {
			return
		}
		if err := b.Marks.Write(ctx, next); err != nil {
			b.Log.Info("the time up to which messages were sent can't be stored", "error", err.Error())
			return
		}
		last = next
	}
	for {
		select {
		case <-ctx.Done():
			// The last seconds of the process are for it.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markEvery)
			defer cancel()
			write(ctx)
			return
		case <-time.After(markEvery):
			write(ctx)
		}
	}
}
