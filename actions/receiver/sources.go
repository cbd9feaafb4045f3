package receiver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/actions/source/amqp"
	"github.com/pequod-io/pequod/actions/source/poll"
	"github.com/pequod-io/pequod/actions/source/sqs"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

const (
	defaultAttempts = 5
	defaultEvery    = time.Minute
)

// backoff is the time before a connection, a request or a message is tried again.
var backoff = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 6, Cap: time.Minute}

func every(p *v1alpha1.PollSource) time.Duration {
	if d, err := time.ParseDuration(string(p.Every)); err == nil {
		return d
	}
	return defaultEvery
}

// secret reads a Secret, which must have the keys.
func (r *reconciler) secret(ctx context.Context, a *v1alpha1.Receiver, name string, keys ...string) (map[string][]byte, error) {
	data, err := r.Accounts.Secret(ctx, a.Namespace, a.Spec.ServiceAccountName, name)
	if err != nil {
		return nil, fmt.Errorf("secret %s: %s", name, identity.Reason(err))
	}
	for _, key := range keys {
		if len(data[key]) == 0 {
			return nil, fmt.Errorf("secret %s: it has no key %s", name, key)
		}
	}
	return data, nil
}

// consume runs the source of a Receiver until ctx is done.
func (r *reconciler) consume(ctx context.Context, a *v1alpha1.Receiver, report func(error)) {
	deliver := func(ctx context.Context, m source.Message) error { return r.settle(ctx, a, m) }
	switch s := &a.Spec.Source; {
	case s.Poll != nil:
		r.poll(ctx, a, report)
	case s.AMQP != nil:
		amqp.Run(ctx, amqp.Options{
			URL: func(ctx context.Context) (string, error) {
				data, err := r.secret(ctx, a, s.AMQP.URLSecretRef.Name, s.AMQP.URLSecretRef.Key)
				return string(data[s.AMQP.URLSecretRef.Key]), err
			},
			Queue: s.AMQP.Queue, DeadLetterQueue: s.AMQP.DeadLetterQueue, Attempts: int(ptr.Deref(s.AMQP.Attempts, defaultAttempts)),
			Dial: r.Egress.Connect, Deliver: deliver, Report: report, Backoff: backoff,
			Buried: func(m source.Message, err error) {
				// The broker has the message; the status is for people.
				_ = r.bury(ctx, a, m, err)
			},
		})
	case s.SQS != nil:
		sqs.Run(ctx, sqs.Options{
			Queue: sqs.Queue{
				URL: s.SQS.QueueURL, Region: s.SQS.Region, CABundle: s.SQS.CABundle, Client: r.Egress, Now: r.Now,
				Credentials: func(ctx context.Context) (aws.Credentials, error) {
					data, err := r.secret(ctx, a, s.SQS.CredentialsSecretRef.Name, "accessKeyID", "secretAccessKey")
					return aws.Credentials{
						AccessKeyID: string(data["accessKeyID"]), SecretAccessKey: string(data["secretAccessKey"]), SessionToken: string(data["sessionToken"]),
					}, err
				},
			},
			Deliver: deliver, Report: report, Backoff: backoff,
		})
	}
}

// poll polls the feed of a Receiver until ctx is done.
func (r *reconciler) poll(ctx context.Context, a *v1alpha1.Receiver, report func(error)) {
	p := a.Spec.Source.Poll
	sum := sha256.Sum256([]byte(p.URL))
	feed := hex.EncodeToString(sum[:8])
	state, err := r.polled(ctx, a, feed)
	for backoff := backoff; err != nil; state, err = r.polled(ctx, a, feed) {
		report(err)
		if source.Pause(ctx, backoff.Step()); ctx.Err() != nil {
			return
		}
	}
	var last failing
	written := state // what the status has
	for ctx.Err() == nil {
		next, err := r.pollOnce(ctx, a, state, &last)
		if !same(written, next) { // also after an update that failed
			failed := r.update(ctx, a, func(s *v1alpha1.ReceiverStatus) {
				s.Poll = &v1alpha1.PollStatus{Feed: feed, ETag: next.ETag, LastModified: next.LastModified, Done: next.Done}
			})
			if failed == nil {
				written = next
			}
			err = errors.Join(err, failed)
		}
		state = next
		if ctx.Err() == nil {
			report(err)
		}
		source.Pause(ctx, every(p))
	}
}

// polled returns the stored state of a feed. The cache may not have yet what the source before this
// one has written.
func (r *reconciler) polled(ctx context.Context, a *v1alpha1.Receiver, feed string) (poll.State, error) {
	stored := &v1alpha1.Receiver{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(a), stored); err != nil {
		return poll.State{}, client.IgnoreNotFound(err)
	}
	if s := stored.Status.Poll; s != nil && s.Feed == feed && stored.UID == a.UID {
		return poll.State{ETag: s.ETag, LastModified: s.LastModified, Done: s.Done}, nil
	}
	return poll.State{}, nil
}

// failing is the item that has failed in the last poll. Those behind it wait, so there is one.
type failing struct {
	digest string
	times  int
}

// failed counts a failure of an item.
func (f *failing) failed(digest string) (times int) {
	if f.digest != digest {
		*f = failing{digest: digest}
	}
	f.times++
	return f.times
}

// same reports whether two states are equal.
func same(a, b poll.State) bool {
	return a.ETag == b.ETag && a.LastModified == b.LastModified && slices.Equal(a.Done, b.Done)
}

// pollOnce polls once. last has the failures of earlier polls.
func (r *reconciler) pollOnce(ctx context.Context, a *v1alpha1.Receiver, state poll.State, last *failing) (poll.State, error) {
	p := a.Spec.Source.Poll
	header := http.Header{"Accept": {"application/json"}}
	if p.Auth != nil {
		token, err := r.secret(ctx, a, p.Auth.TokenSecretRef.Name, p.Auth.TokenSecretRef.Key)
		if err != nil {
			return state, err
		}
		header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token[p.Auth.TokenSecretRef.Key])))
	}
	feed := poll.Feed{
		Request: egress.Request{Method: http.MethodGet, URL: p.URL, Header: header, CABundle: p.CABundle},
		Items:   string(p.Items), Key: string(p.Key),
	}
	return poll.Once(ctx, r.Egress, feed, state, func(ctx context.Context, item poll.Item) (bool, error) {
		err := r.settle(ctx, a, item.Message)
		if err == nil {
			return true, nil
		}
		switch source.ClassOf(err) {
		case source.Unavailable:
			return false, err
		case source.Failed:
			if last.failed(item.Digest) < int(ptr.Deref(p.Attempts, defaultAttempts)) {
				return false, err
			}
		}
		err = r.bury(ctx, a, item.Message, err)
		return err == nil, err
	})
}
