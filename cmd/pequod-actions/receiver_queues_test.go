package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hosts/rabbitmq"
	"github.com/pequod-io/pequod/test/hosts/sqs"
	"github.com/pequod-io/pequod/test/process"
)

// serve serves requests until the test ends.
func serve(t *testing.T, handler http.HandlerFunc) (url string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// TestReceiverAMQP applies orders from a queue of a real RabbitMQ. While the API server is away,
// the connection to the broker is cut, so the messages are delivered again. Each of them is applied
// once.
func TestReceiverAMQP(t *testing.T) {
	t.Parallel()
	b := rabbitmq.Start(t)
	e := newEnv(t)
	proxy := e.Proxy(t, 1)
	e.Apply(t, hookRights+"---"+orders+fmt.Sprintf(`---
{apiVersion: v1, kind: Secret, metadata: {name: broker}, stringData: {url: "amqp://guest:guest@%s/"}}
`, b.Address))
	written := e.watchOrders(t)
	connection, err := amqp091.Dial("amqp://guest:guest@" + b.Direct)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() }) // the broker may be gone
	channel, err := connection.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := channel.QueueDeclare("orders", true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	publish := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			message := amqp091.Publishing{Body: fmt.Appendf(nil, `{"name": "order-%d", "size": 1}`, i), MessageId: fmt.Sprint(i), DeliveryMode: amqp091.Persistent}
			if err := channel.PublishWithContext(t.Context(), "", "orders", false, false, message); err != nil {
				t.Fatal(err)
			}
		}
	}
	e.as = proxy.Config(e.as)
	p := e.run(t, append(withoutLease, "--receiver-kinds=Order.shop.example.com")...)
	e.receiver(t, "queue", "\n  source: {amqp: {urlSecretRef: {name: broker, key: url}, queue: orders}}"+applyOrder)
	e.receiving(t, "queue", "Receiving")
	applied := func(want int) {
		t.Helper()
		harness.Eventually(t, patience, func(context.Context) error {
			if all, _ := written.counts(); all != want {
				return fmt.Errorf("%d orders", all)
			}
			return nil
		})
	}
	// ready waits until at most a number of messages are in the queue, beside those that are not acknowledged.
	ready := func(most int) {
		t.Helper()
		harness.Eventually(t, patience, func(context.Context) error {
			queue, err := channel.QueueDeclarePassive("orders", true, false, false, false, nil)
			if err != nil || queue.Messages > most {
				return fmt.Errorf("%d messages: %v", queue.Messages, err)
			}
			return nil
		})
	}
	publish(0, 5)
	applied(5)
	ready(0)
	if err := proxy.Down(); err != nil {
		t.Fatal(err)
	}
	publish(5, 10)
	// The program has one of them or two, and can't acknowledge any.
	ready(4)
	b.Cut()
	if err := proxy.Up(); err != nil {
		t.Fatal(err)
	}
	applied(10)
	b.Cut()
	publish(10, 12)
	applied(12)
	ready(0)
	// The effect is stored, and its answer is lost. Then so is the connection to the broker, so the message
	// is delivered again.
	proxy.Inject(faults.Rule{Verbs: []string{"apply"}, Resources: []string{"orders.shop.example.com"}, Faults: []faults.Fault{faults.Cut{}}})
	publish(12, 13)
	applied(13)
	b.Cut()
	proxy.Inject()
	harness.Eventually(t, patience, func(context.Context) error {
		if !strings.Contains(e.scrape(t, p), `pequod_receiver_deliveries_total{result="repeated",source="amqp"}`) {
			return fmt.Errorf("no message was found to be a repetition")
		}
		return nil
	})
	if _, twice := written.counts(); len(twice) > 0 {
		t.Errorf("applied twice: %v", twice)
	}
	ready(0)
	if strings.Contains(p.Log.String(), "guest:guest") {
		t.Error("the log has the credentials of the broker")
	}
}

// TestReceiverSQS applies orders from a queue with the protocol of SQS, whose messages become
// visible again while they are processed. Each of them is applied once.
func TestReceiverSQS(t *testing.T) {
	t.Parallel()
	q := sqs.New(t)
	e := newEnv(t)
	e.Apply(t, hookRights+"---"+orders+fmt.Sprintf(`---
{apiVersion: v1, kind: Secret, metadata: {name: queue}, stringData: {accessKeyID: %s, secretAccessKey: %q}}
`, sqs.AccessKey, sqs.SecretKey))
	written := e.watchOrders(t)
	start := func() *process.Process {
		return e.run(t, append(withoutLease, "--receiver-kinds=Order.shop.example.com")...)
	}
	// Nothing is deleted in time, so the messages come again and again.
	q.SetVisibility(time.Nanosecond)
	p := start()
	for i := range 5 {
		q.Send(fmt.Sprintf(`{"name": "order-%d", "size": 1}`, i))
	}
	e.receiver(t, "queue", fmt.Sprintf("\n  source: {sqs: {queueURL: %s, region: %s, credentialsSecretRef: {name: queue}}}", q.Address(), sqs.Region)+applyOrder)
	harness.Eventually(t, patience, func(context.Context) error {
		all, _ := written.counts()
		received, deleted := q.Counts(`{"name": "order-4", "size": 1}`)
		if all != 5 || received < 3 || deleted != 0 {
			return fmt.Errorf("%d orders; the last message was received %d times and deleted %d times", all, received, deleted)
		}
		return nil
	})
	_ = p.Cmd.Process.Kill() // it runs
	<-p.Done
	q.SetVisibility(0)
	start()
	harness.Eventually(t, patience, func(context.Context) error {
		for i := range 5 {
			if _, deleted := q.Counts(fmt.Sprintf(`{"name": "order-%d", "size": 1}`, i)); deleted != 1 {
				return fmt.Errorf("message %d was deleted %d times", i, deleted)
			}
		}
		return nil
	})
	if all, twice := written.counts(); all != 5 || len(twice) > 0 {
		t.Errorf("%d orders; applied twice: %v", all, twice)
	}
	if q.Refused() > 0 {
		t.Errorf("%d signatures were refused", q.Refused())
	}
}
