package amqp

import (
	"context"
	"encoding/binary"
	"net"
	"strings"
	"testing"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/test/hosts/rabbitmq"
)

// frame returns a frame of AMQP.
func frame(kind byte, payload []byte) []byte {
	text := binary.BigEndian.AppendUint32([]byte{kind, 0, 1}, uint32(len(payload)))
	return append(append(text, payload...), 0xce)
}

// content returns the payload of the header of a message.
func content(size uint64) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{0, 60, 0, 0}, size), 0, 0)
}

// TestGuard finds the size of messages, wherever reads divide the stream.
func TestGuard(t *testing.T) {
	t.Parallel()
	var fine []byte
	for _, f := range [][]byte{
		frame(1, []byte("a method")), frame(typeContent, content(maxMessage)),
		frame(3, content(maxMessage+1)), // a body that looks like a header
		frame(8, nil), frame(typeContent, nil), frame(typeContent, content(0)),
	} {
		fine = append(fine, f...)
	}
	large := append(append([]byte{}, fine...), frame(typeContent, content(maxMessage+1))...)
	for step := range 40 {
		for _, test := range []struct {
			stream  []byte
			refused bool
		}{{fine, false}, {large, true}} {
			g, refused := &guard{}, false
			for rest := test.stream; len(rest) > 0 && !refused; {
				n := min(step+1, len(rest))
				refused = g.inspect(rest[:n]) != nil
				rest = rest[n:]
			}
			if refused != test.refused {
				t.Errorf("reads of %d bytes: refused is %t, want %t", step+1, refused, test.refused)
			}
		}
	}
}

// TestLargeMessage has a real RabbitMQ with a message that is too large, which is not received. When
// it is gone, the queue is consumed again.
func TestLargeMessage(t *testing.T) {
	t.Parallel()
	b := rabbitmq.Start(t)
	channel := sender(t, b, "orders")
	for _, size := range []int{maxMessage + 1, 1} {
		message := amqp091.Publishing{Body: make([]byte, size), DeliveryMode: amqp091.Persistent}
		if err := channel.PublishWithContext(t.Context(), "", "orders", false, false, message); err != nil {
			t.Fatal(err)
		}
	}
	reports, sizes := make(chan error, 1000), make(chan int, 10)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Run(ctx, Options{
			URL:   func(context.Context) (string, error) { return "amqp://guest:guest@" + b.Address, nil },
			Queue: "orders", Attempts: 3, Backoff: quick,
			Deliver: func(_ context.Context, m source.Message) error { sizes <- m.Size; return nil },
			Dial: func(ctx context.Context, address string, _ bool) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "tcp", address)
			},
			Report: func(err error) {
				select {
				case reports <- err:
				default:
				}
			},
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	for err := range reports {
		if err != nil {
			if !strings.Contains(err.Error(), "a message in the queue has 16777217 bytes, more than 16777216") {
				t.Fatal(err)
			}
			break
		}
	}
	// The message is the first one as soon as the connection that had it is closed.
	for {
		message, ok, err := channel.Get("orders", false)
		if err != nil {
			t.Fatal(err)
		}
		if ok && len(message.Body) > 1 {
			if err := message.Ack(false); err != nil {
				t.Fatal(err)
			}
			break
		}
		if ok {
			if err := message.Nack(false, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	if size := <-sizes; size != 1 {
		t.Errorf("a message of %d bytes was received", size)
	}
}
