// Package amqp consumes a queue of an AMQP 0.9.1 broker, such as RabbitMQ.
//
// A message is acknowledged only after its effects are stored. If the connection breaks before
// that, the broker delivers it again. Messages are processed one after the other, in their order.
// One that fails is repeated, and blocks those behind it, until it succeeds or goes to the dead
// letter queue.
//
// [Run] is the entry point.
package amqp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/pequod-io/pequod/actions/redact"
	"github.com/pequod-io/pequod/actions/source"
)

const (
	// prefetch is the number of messages that the broker sends in advance: one is processed, and
	// the next one is on its way. They are in memory.
	prefetch = 2
	// frameSize is the largest frame in bytes that the broker may send.
	frameSize = 128 << 10
	// connectTimeout limits the time until a connection is open.
	connectTimeout = 30 * time.Second
	heartbeat      = 10 * time.Second
	// confirmTimeout limits the time until the broker has a dead letter.
	confirmTimeout = 30 * time.Second
)

// Options configure [Run]. All but DeadLetterQueue are required.
type Options struct {
	// URL returns the address of the broker with its credentials, amqps://USER:PASSWORD@HOST/VHOST.
	URL   func(context.Context) (string, error)
	Queue string
	// DeadLetterQueue gets messages that have failed Attempts times, or are refused. Without it,
	// they are repeated for ever.
	DeadLetterQueue string
	Attempts        int
	// Dial connects to an address, HOST:PORT. plain is set if the connection will have no TLS.
	Dial func(ctx context.Context, address string, plain bool) (net.Conn, error)
	// Deliver performs the effects of a message.
	Deliver func(context.Context, source.Message) error
	// Report is called with nil when the queue is consumed, and with an error when it can't be.
	Report func(error)
	// Buried is called when a message is in the dead letter queue.
	Buried func(m source.Message, err error)
	// Backoff is the time before a connection or a message is tried again.
	Backoff wait.Backoff
}

// Run consumes the queue until ctx is done.
func Run(ctx context.Context, o Options) {
	backoff := o.Backoff
	for ctx.Err() == nil {
		err := o.consume(ctx, func() { backoff = o.Backoff })
		if ctx.Err() != nil {
			return
		}
		o.Report(err)
		source.Pause(ctx, backoff.Step())
	}
}

// consume consumes the queue until the connection breaks. opened is called when it is open.
func (o Options) consume(ctx context.Context, opened func()) error {
	connection, guard, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer connection.Close()
	return guard.cause(o.consumeFrom(ctx, connection, opened))
}

// consumeFrom consumes the queue until the connection breaks.
func (o Options) consumeFrom(ctx context.Context, connection *amqp091.Connection, opened func()) error {
	// Reading from a channel doesn't end with ctx.
	defer context.AfterFunc(ctx, func() { connection.Close() })()
	channel, err := connection.Channel()
	if err != nil {
		return err
	}
	if err := channel.Qos(prefetch, 0, false); err != nil {
		return err
	}
	if err := channel.Confirm(false); err != nil { // for dead letters
		return err
	}
	messages, err := channel.ConsumeWithContext(ctx, o.Queue, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	closed := channel.NotifyClose(make(chan *amqp091.Error, 1))
	q := &queue{o, channel, channel.NotifyReturn(make(chan amqp091.Return, 1))}
	opened()
	o.Report(nil)
	for message := range messages {
		if err := q.process(ctx, message); err != nil {
			return err
		}
	}
	if err := <-closed; err != nil {
		return err
	}
	return errors.New("the broker has closed the connection")
}

// connect opens a connection, which the guard watches.
func (o Options) connect(ctx context.Context) (*amqp091.Connection, *guard, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	url, err := o.URL(ctx)
	if err != nil {
		return nil, nil, err
	}
	uri, err := amqp091.ParseURI(url)
	if err != nil {
		return nil, nil, errors.New("the address of the broker is not valid") // the error may quote it
	}
	plain := uri.Scheme == "amqp"
	conn, err := o.Dial(ctx, net.JoinHostPort(uri.Host, strconv.Itoa(uri.Port)), plain)
	if err != nil {
		return nil, nil, err
	}
	// The library sets no deadline of its own for the handshake. It removes this one.
	if err := conn.SetDeadline(time.Now().Add(connectTimeout)); err != nil {
		conn.Close()
		return nil, nil, err
	}
	if !plain {
		conn = tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: uri.Host})
	}
	guard := &guard{Conn: conn, known: redact.New(uri.Password)}
	connection, err := amqp091.Open(guard, amqp091.Config{
		SASL: []amqp091.Authentication{uri.PlainAuth()}, Vhost: uri.Vhost, Heartbeat: heartbeat, Locale: "en_US", FrameSize: frameSize,
	})
	if err != nil {
		conn.Close()
		return nil, nil, guard.clean(err)
	}
	return connection, guard, nil
}

// clean returns an error without an address, which has credentials, and without the password, which the
// broker may repeat.
func (g *guard) clean(err error) error {
	if known := (*amqp091.Error)(nil); errors.As(err, &known) {
		return errors.New(g.known.Text(fmt.Sprintf("the broker answers %d: %s", known.Code, known.Reason)))
	}
	return err
}

// queue is a queue that is consumed.
type queue struct {
	Options
	channel *amqp091.Channel
	// returned gets dead letters that their queue doesn't take. One is sent at a time.
	returned chan amqp091.Return
}

// process delivers a message until that succeeds, and acknowledges it. An error means that the
// connection is broken.
func (q *queue) process(ctx context.Context, message amqp091.Delivery) error {
	m := messageOf(message)
	backoff := q.Backoff
	for failures := 0; ; {
		err := q.Deliver(ctx, m)
		if err == nil {
			return message.Ack(false)
		}
		class := source.ClassOf(err)
		if class == source.Failed {
			failures++
		}
		if q.DeadLetterQueue != "" && (class == source.Refused || failures >= q.Attempts) {
			return q.bury(ctx, message, m, err)
		}
		// Nothing is lost: the message stays unacknowledged, so the broker keeps it.
		source.Pause(ctx, backoff.Step())
		if ctx.Err() != nil || q.channel.IsClosed() {
			return errors.Join(ctx.Err(), amqp091.ErrClosed)
		}
	}
}

// bury sends a message to the dead letter queue. It is acknowledged after the broker has stored
// the copy.
func (q *queue) bury(ctx context.Context, message amqp091.Delivery, m source.Message, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	copied := amqp091.Publishing{
		Headers: message.Headers, ContentType: message.ContentType, ContentEncoding: message.ContentEncoding,
		DeliveryMode: amqp091.Persistent, CorrelationId: message.CorrelationId, MessageId: message.MessageId,
		Timestamp: message.Timestamp, Type: message.Type, AppId: message.AppId, Body: message.Body,
	}
	confirmation, err := q.channel.PublishWithDeferredConfirmWithContext(ctx, "", q.DeadLetterQueue, true, false, copied)
	if err != nil {
		return err
	}
	stored, err := confirmation.WaitContext(ctx)
	if err != nil {
		return err
	}
	select {
	case <-q.returned: // the broker returns a message before it confirms it
		stored = false
	default:
	}
	if !stored {
		return fmt.Errorf("the dead letter queue %s doesn't take the message", q.DeadLetterQueue)
	}
	q.Buried(m, cause)
	return message.Ack(false)
}

// messageOf returns the message of a delivery.
func messageOf(d amqp091.Delivery) source.Message {
	headers := http.Header{}
	// Names that differ in their case only are one header, so the order of its values must be fixed.
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		if text, ok := d.Headers[name].(string); ok {
			headers.Add(name, text)
		}
	}
	for _, property := range []struct{ name, value string }{{"type", d.Type}, {"routing-key", d.RoutingKey}, {"content-type", d.ContentType}} {
		if property.value != "" {
			headers.Set(property.name, property.value)
		}
	}
	return source.New(d.MessageId, headers, d.Body)
}
