package amqp

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp091 "github.com/rabbitmq/amqp091-go"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/test/hosts/rabbitmq"
)

// quick is a backoff for tests.
var quick = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 1, Steps: 1}

// sender returns a channel to the broker, with durable queues.
func sender(t *testing.T, b *rabbitmq.Broker, queues ...string) *amqp091.Channel {
	t.Helper()
	connection, err := amqp091.Dial("amqp://guest:guest@" + b.Direct)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() }) // the broker may be gone
	channel, err := connection.Channel()
	if err != nil {
		t.Fatal(err)
	}
	for _, queue := range queues {
		if _, err := channel.QueueDeclare(queue, true, false, false, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	return channel
}

// TestQueue consumes a queue of a real RabbitMQ. A connection that breaks before an
// acknowledgement has the message delivered again, and so does an API server that is away; a
// message that fails too often goes to the dead letter queue, and one that is refused at once.
func TestQueue(t *testing.T) {
	t.Parallel()
	b := rabbitmq.Start(t)
	channel := sender(t, b, "orders", "dead")
	var mu sync.Mutex
	var log, buried []string
	times := map[string]int{}
	deliver := func(_ context.Context, m source.Message) error {
		mu.Lock()
		defer mu.Unlock()
		body := m.Body.(string)
		times[body]++
		log = append(log, body)
		switch {
		case body == "cut" && times[body] == 1:
			b.Cut() // the effect is stored, and the acknowledgement gets lost
		case body == "away" && times[body] < 10:
			return &source.Error{Class: source.Unavailable, Message: "away"}
		case body == "fails":
			return &source.Error{Class: source.Failed, Message: "no right"}
		case body == "refused":
			return &source.Error{Class: source.Refused, Message: "nonsense"}
		}
		return nil
	}
	reports := make(chan error, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Run(ctx, Options{
			URL:   func(context.Context) (string, error) { return "amqp://guest:guest@" + b.Address + "/", nil },
			Queue: "orders", DeadLetterQueue: "dead", Attempts: 3, Deliver: deliver, Backoff: quick,
			Dial: func(ctx context.Context, address string, plain bool) (net.Conn, error) {
				if !plain || address != b.Address {
					t.Errorf("dial %s, plain %t", address, plain)
				}
				return (&net.Dialer{}).DialContext(ctx, "tcp", address)
			},
			Report: func(err error) { reports <- err },
			Buried: func(m source.Message, _ error) {
				mu.Lock()
				defer mu.Unlock()
				buried = append(buried, m.ID)
			},
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	if err := <-reports; err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"first", "cut", "away", "fails", "refused", "last"} {
		message := amqp091.Publishing{Body: []byte(body), MessageId: "id-" + body, DeliveryMode: amqp091.Persistent}
		if err := channel.PublishWithContext(t.Context(), "", "orders", false, false, message); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		mu.Lock()
		ended := times["last"] > 0
		mu.Unlock()
		if ended {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the last message has not come: %v", log)
		}
	}
	cancel()
	<-done
	mu.Lock()
	defer mu.Unlock()
	delete(times, "first") // its acknowledgement may be lost in the cut, too
	want := map[string]int{"cut": 2, "away": 10, "fails": 3, "refused": 1, "last": 1}
	if diff := cmp.Diff(want, times); diff != "" {
		t.Errorf("deliveries (-want +got): %s\n%v", diff, log)
	}
	if diff := cmp.Diff([]string{"id-fails", "id-refused"}, buried); diff != "" {
		t.Errorf("buried: %s", diff)
	}
	for _, body := range []string{"fails", "refused"} {
		message, ok, err := channel.Get("dead", true)
		if err != nil || !ok || string(message.Body) != body || message.MessageId != "id-"+body {
			t.Errorf("dead letter %q, want %s: %v", message.Body, body, err)
		}
	}
}

// TestHeaders checks that a message has the same headers whenever it is delivered, although names may
// differ in their case only, and that properties of the message go before headers.
func TestHeaders(t *testing.T) {
	t.Parallel()
	delivery := amqp091.Delivery{
		Headers: amqp091.Table{"x-team": "a", "X-Team": "b", "X-TEAM": "c", "number": int32(1), "type": "forged", "Authorization": "Bearer canary"}, Type: "order", RoutingKey: "orders", Body: []byte("{}"),
	}
	want := map[string]any{"x-team": "c, b, a", "type": "order", "routing-key": "orders"}
	for range 50 {
		if diff := cmp.Diff(want, messageOf(delivery).Headers); diff != "" {
			t.Fatalf("headers (-want +got): %s", diff)
		}
	}
}
