package outbox

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/lru"

	"github.com/pequod-io/pequod/actions/egress"
)

// Limits of the queue.
const (
	maxWaiting = 1000
	maxBytes   = 16 << 20 // of all bodies
	maxAge     = time.Hour
	// maxSeen is the number of ids that are remembered, so that they are sent once.
	maxSeen = 20_000
	// The time between two attempts to send a message.
	firstDelay = time.Second
	lastDelay  = time.Minute
	// maxAnswer is how long an answer is awaited when the process ends.
	maxAnswer = 5 * time.Second
)

// Message is a message to the server.
type Message struct {
	// ID identifies the message, also over restarts.
	ID string
	// At is the time of what the message is about.
	At time.Time
	// Header are the headers of the request, and Body its body.
	Header http.Header
	Body   []byte
}

// Client sends requests.
type Client interface {
	Do(context.Context, egress.Request) (*egress.Response, error)
}

// Recorder counts what happens to messages.
type Recorder interface {
	Sent()
	// Dropped records a message that is lost: "full", "expired" or "refused".
	Dropped(reason string)
	// Failed records an attempt to send a message that will be repeated.
	Failed()
	// Waiting records how many messages are queued.
	Waiting(messages int)
}

// Options configure an outbox. URL, Client, Metrics and Log are required.
type Options struct {
	URL string
	// Header are headers that are added to each request.
	Header http.Header
	// HeaderFile is a file with headers that are added to each request, such as
	// "Authorization: Bearer TOKEN", one a line. They replace those of Header. It is read for each
	// request; "" means none.
	HeaderFile string
	// CAFile is a file with the certificates of the authorities that are trusted, as PEM. It is read for each
	// request; "" means those of the system.
	CAFile string
	Client Client
	// Verdict decides about an answer; nil is [Answer].
	Verdict func(*egress.Response) Verdict
	Metrics Recorder
	Log     logr.Logger
	// Marks keeps what was sent over restarts; nil keeps nothing.
	Marks Marks
	// Now returns the time. nil is the system's clock.
	Now func() time.Time
	// Delay is the time until the second attempt; 0 means a second.
	Delay time.Duration
}

// Outbox is a queue of messages to a server. It is safe for concurrent use.
type Outbox struct {
	Options
	queue workqueue.TypedRateLimitingInterface[string]
	// failing is set since an attempt has failed and until a message is sent. Only next uses it.
	failing bool

	mu      sync.Mutex
	begun   bool
	made    time.Time          // when the process started
	since   time.Time          // messages about what happened before aren't sent
	waiting map[string]waiting // by id
	bytes   int                // of the bodies in waiting
	seen    *lru.Cache         // ids that were queued or sent
	sent    record
}

// waiting is a message in the queue.
type waiting struct {
	Message
	queued time.Time
}

// New returns an outbox. It sends nothing until [Outbox.Start] runs.
func New(o Options) *Outbox {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Verdict == nil {
		o.Verdict = Answer
	}
	if o.Delay == 0 {
		o.Delay = firstDelay
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](o.Delay, lastDelay)
	return &Outbox{Options: o, made: o.Now(), queue: workqueue.NewTypedRateLimitingQueue(limiter), waiting: map[string]waiting{}, seen: lru.New(maxSeen)}
}

// Wants reports whether a message with an id, about something that happened at a time, would be queued:
// it wasn't before, and is not about the time before the process began to send. It waits for the API
// server once, for the time up to which everything was sent; after an error, ask again.
func (b *Outbox) Wants(ctx context.Context, id string, at time.Time) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wants(ctx, id, at)
}

// wants is Wants. The mutex is held.
func (b *Outbox) wants(ctx context.Context, id string, at time.Time) (bool, error) {
	if err := b.begin(ctx); err != nil {
		return false, err
	}
	_, seen := b.seen.Get(id)
	return !seen && !at.Before(b.since), nil
}

// Put queues a message if the outbox [Outbox.Wants] it. After an error, put it again. A message that
// doesn't fit into the queue is dropped.
func (b *Outbox) Put(ctx context.Context, m Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if wanted, err := b.wants(ctx, m.ID, m.At); err != nil || !wanted {
		return err
	}
	b.seen.Add(m.ID, nil)
	if len(b.waiting) >= maxWaiting || b.bytes+len(m.Body) > maxBytes {
		b.Metrics.Dropped("full")
		return nil
	}
	b.waiting[m.ID] = waiting{m, b.Now()}
	b.bytes += len(m.Body)
	b.Metrics.Waiting(len(b.waiting))
	b.queue.Add(m.ID)
	return nil
}

// begin determines since when messages are sent. The mutex is held.
func (b *Outbox) begin(ctx context.Context) error {
	if b.begun {
		return nil
	}
	now := b.Now()
	b.since = b.made.Truncate(time.Second) // as times of the API are
	if b.Marks != nil {
		last, err := b.Marks.Read(ctx)
		if err != nil {
			return err
		}
		if !last.UpTo.IsZero() {
			// What the message is about is recorded by clocks of other machines.
			b.since = last.UpTo.Add(-slack)
		}
		for _, digest := range last.IDs {
			b.sent.add(digest, last.UpTo)
		}
	}
	if oldest := now.Add(-maxAge); b.since.Before(oldest) {
		b.since = oldest
	}
	b.begun = true
	return nil
}

// Start sends messages until ctx is done. It implements manager.Runnable. A message that is on its way then has
// some seconds to be answered, so that the mark has it.
func (b *Outbox) Start(ctx context.Context) error {
	sending, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	marking, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var sender, marker sync.WaitGroup
	sender.Go(func() {
		for b.next(ctx, sending) {
		}
	})
	if b.Marks != nil {
		marker.Go(func() { b.keepMark(marking) })
	}
	<-ctx.Done()
	b.queue.ShutDown()
	defer time.AfterFunc(maxAnswer, abandon).Stop()
	sender.Wait()
	end()
	marker.Wait()
	return nil
}

// next sends the next message with the context sending, unless ctx is done. It returns false after the queue was
// shut down.
func (b *Outbox) next(ctx, sending context.Context) bool {
	id, shutdown := b.queue.Get()
	if shutdown {
		return false
	}
	defer b.queue.Done(id)
	b.mu.Lock()
	m, ok := b.waiting[id]
	again := b.sent.has(digestOf(id))
	b.mu.Unlock()
	switch {
	case !ok || ctx.Err() != nil:
		return true
	case again: // by the process before this one
		b.remove(m, true)
		return true
	case b.Now().Sub(m.queued) > maxAge:
		b.drop(m, "expired")
		return true
	}
	after, verdict, err := b.send(sending, m.Message)
	switch {
	case sending.Err() != nil:
		return true
	case verdict == Delivered:
		b.Metrics.Sent()
		b.remove(m, true)
		b.failing = false
	case verdict == Refused:
		b.Log.Error(err, "a message was refused and is dropped", "id", id)
		b.drop(m, "refused")
	default:
		b.Metrics.Failed()
		if !b.failing { // not for each message and each attempt while the server is away
			b.Log.Info("a message could not be sent; messages wait until the server accepts them", "id", id, "error", err.Error())
		}
		b.failing = true
		if after > 0 {
			b.queue.AddAfter(id, min(after, lastDelay))
			return true
		}
		b.queue.AddRateLimited(id)
	}
	return true
}

// drop removes a message that is lost.
func (b *Outbox) drop(m waiting, reason string) {
	b.Metrics.Dropped(reason)
	b.remove(m, false)
}

// remove removes a message from the queue.
func (b *Outbox) remove(m waiting, sent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, m.ID)
	b.bytes -= len(m.Body)
	b.queue.Forget(m.ID)
	b.Metrics.Waiting(len(b.waiting))
	if sent && b.Marks != nil {
		b.sent.add(digestOf(m.ID), m.At)
	}
}
