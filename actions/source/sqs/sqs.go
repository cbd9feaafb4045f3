// Package sqs consumes a queue of Amazon SQS, or of a server with the same protocol: JSON 1.0 with
// Signature Version 4.
//
// A message is deleted only after its effects are stored. Otherwise it becomes visible again after
// its timeout. The redrive policy of the queue says how often, and where it goes then.
//
// [Run] is the entry point. client.go has the protocol.
package sqs

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/pequod-io/pequod/actions/source"
)

const (
	// batch is the number of messages of one request.
	batch = 10
	// poll is how long the server waits for messages, in seconds. Requests time out after 30.
	poll = 20
	// visibility is the time in seconds in which the effects of a message should be stored.
	visibility = 60
)

// Options configure [Run]. All are required.
type Options struct {
	Queue Queue
	// Deliver performs the effects of a message.
	Deliver func(context.Context, source.Message) error
	// Report is called with nil when the queue is read, and with an error when it can't be.
	Report func(error)
	// Backoff is the time before a request or a message is tried again.
	Backoff wait.Backoff
}

// Run consumes the queue until ctx is done.
func Run(ctx context.Context, o Options) {
	backoff, most := o.Backoff, batch
	for ctx.Err() == nil {
		began, stored := time.Now(), 0
		messages, err := o.Queue.receive(ctx, most)
		if ctx.Err() != nil {
			return
		}
		if err != nil && tooLarge(err) && most > 1 {
			most = 1
			continue
		}
		if err == nil {
			stored, err = o.process(ctx, messages)
		}
		o.Report(err)
		if err != nil {
			source.Pause(ctx, backoff.Step())
			continue
		}
		backoff = o.Backoff
		if stored == 0 {
			// SQS waits for messages, and keeps those that failed invisible. A server may do neither.
			source.Pause(ctx, o.Backoff.Duration-time.Since(began))
		}
	}
}

// process delivers messages, and deletes those whose effects are stored. It returns how many these are. The
// error is that of a request to the queue.
func (o Options) process(ctx context.Context, messages []message) (stored int, err error) {
	for i, m := range messages {
		err := o.deliver(ctx, messages[i:])
		if ctx.Err() != nil {
			return stored, nil
		}
		if err != nil {
			continue // it becomes visible again
		}
		if err := o.Queue.remove(ctx, m); err != nil {
			return stored, err
		}
		stored++
	}
	return stored, nil
}

// deliver delivers the first of the messages. While the API server is away, all of them stay
// invisible: their receptions count for the redrive policy, and they haven't failed.
func (o Options) deliver(ctx context.Context, messages []message) error {
	backoff := o.Backoff
	for {
		err := o.Deliver(ctx, messages[0].message())
		if err == nil || source.ClassOf(err) != source.Unavailable || ctx.Err() != nil {
			return err
		}
		for _, m := range messages {
			if err := o.Queue.hide(ctx, m); err != nil {
				return err
			}
		}
		source.Pause(ctx, min(backoff.Step(), visibility*time.Second/2))
	}
}
