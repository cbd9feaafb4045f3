// Package sqs stands in for one queue of Amazon SQS: the JSON protocol with verified signatures,
// long polls, visibility timeouts, receipt handles that become void, and a redrive policy.
//
// [New] is the entry point.
package sqs

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// The key of the queue's user.
const (
	AccessKey = "AKIDEXAMPLE"
	SecretKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	Region    = "eu-central-1"
)

// Queue is a queue with its server.
type Queue struct {
	*httptest.Server
	// MaxReceives is how often a message is received before it goes to the dead letters; 0 is
	// without a limit.
	MaxReceives int

	mu sync.Mutex
	// visibility overrides the visibility timeout that clients ask for, unless it is 0.
	visibility time.Duration
	messages   []*message
	dead       []string
	received   map[string]int // by body
	deleted    map[string]int // by body
	refused    int
	receipts   int
}

// message is a message in the queue.
type message struct {
	id, body, receipt string
	receives          int
	visibleAt         time.Time
}

// New starts a queue.
func New(t testing.TB) *Queue {
	t.Helper()
	q := &Queue{received: map[string]int{}, deleted: map[string]int{}}
	q.Server = httptest.NewServer(q)
	t.Cleanup(func() {
		q.CloseClientConnections() // a long poll may be open
		q.Close()
	})
	return q
}

// Address returns the URL of the queue.
func (q *Queue) Address() string { return q.URL + "/123456789012/orders" }

// Send puts a message into the queue.
func (q *Queue) Send(body string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.messages = append(q.messages, &message{id: fmt.Sprintf("message-%d", len(q.messages)+len(q.deleted)), body: body})
}

// SetVisibility overrides the visibility timeout that clients ask for; 0 ends that.
func (q *Queue) SetVisibility(d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.visibility = d
}

// Counts returns how often a message was received, and how often it was deleted.
func (q *Queue) Counts(body string) (received, deleted int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.received[body], q.deleted[body]
}

// Dead returns the dead letters.
func (q *Queue) Dead() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]string(nil), q.dead...)
}

// Refused returns the number of requests whose signature was wrong.
func (q *Queue) Refused() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.refused
}

// request has the fields of all requests.
type request struct {
	QueueURL            string `json:"QueueUrl"`
	ReceiptHandle       string
	MaxNumberOfMessages int
	WaitTimeSeconds     int
	VisibilityTimeout   int
}

// ServeHTTP implements [http.Handler].
func (q *Queue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	if !signed(r, body) {
		q.mu.Lock()
		q.refused++
		q.mu.Unlock()
		fail(w, http.StatusForbidden, "SignatureDoesNotMatch")
		return
	}
	var in request
	if err := json.Unmarshal(body, &in); err != nil || r.Header.Get("Content-Type") != "application/x-amz-json-1.0" || in.QueueURL != q.Address() {
		fail(w, http.StatusBadRequest, "QueueDoesNotExist")
		return
	}
	action, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.")
	switch {
	case ok && action == "ReceiveMessage":
		q.receive(w, r, in)
	case ok && action == "DeleteMessage":
		q.remove(w, in)
	case ok && action == "ChangeMessageVisibility":
		q.hide(w, in)
	default:
		fail(w, http.StatusBadRequest, "UnknownOperationException")
	}
}

// fail answers with an error.
func fail(w http.ResponseWriter, code int, name string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": "com.amazonaws.sqs#" + name, "message": name}) // the client may be gone
}

// receive waits for visible messages, and makes them invisible.
func (q *Queue) receive(w http.ResponseWriter, r *http.Request, in request) {
	visibility := time.Duration(in.VisibilityTimeout) * time.Second
	q.mu.Lock()
	if q.visibility != 0 {
		visibility = q.visibility
	}
	q.mu.Unlock()
	end := time.Now().Add(time.Duration(in.WaitTimeSeconds) * time.Second)
	for {
		found := q.take(in.MaxNumberOfMessages, visibility)
		if len(found) > 0 || time.Now().After(end) {
			_ = json.NewEncoder(w).Encode(map[string]any{"Messages": found}) // a message that is lost becomes visible again
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
}

// take takes visible messages.
func (q *Queue) take(most int, visibility time.Duration) (found []map[string]any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	var left []*message
	for _, m := range q.messages {
		if m.visibleAt.After(now) || len(found) == max(most, 1) {
			left = append(left, m)
			continue
		}
		if q.MaxReceives > 0 && m.receives == q.MaxReceives {
			q.dead = append(q.dead, m.body)
			continue
		}
		left = append(left, m)
		q.receipts++
		m.receives++
		m.receipt, m.visibleAt = fmt.Sprintf("receipt-%d", q.receipts), now.Add(visibility)
		q.received[m.body]++
		sum := md5.Sum([]byte(m.body))
		found = append(found, map[string]any{
			"MessageId": m.id, "ReceiptHandle": m.receipt, "Body": m.body, "MD5OfBody": hex.EncodeToString(sum[:]),
			"Attributes": map[string]string{"ApproximateReceiveCount": fmt.Sprint(m.receives), "SentTimestamp": "1767322800000"},
		})
	}
	q.messages = left
	return found
}

// find returns the position of the message with a receipt that is not void, or -1.
func (q *Queue) find(receipt string) int {
	for i, m := range q.messages {
		if m.receipt == receipt && m.visibleAt.After(time.Now()) {
			return i
		}
	}
	return -1
}

// remove deletes a message. The receipt of a message that was deleted is no error.
func (q *Queue) remove(w http.ResponseWriter, in request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := q.find(in.ReceiptHandle); i >= 0 {
		q.deleted[q.messages[i].body]++
		q.messages = append(q.messages[:i], q.messages[i+1:]...)
	}
	_, _ = io.WriteString(w, "{}")
}

// hide changes the time at which a message becomes visible.
func (q *Queue) hide(w http.ResponseWriter, in request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.find(in.ReceiptHandle)
	if i < 0 {
		fail(w, http.StatusBadRequest, "MessageNotInflight")
		return
	}
	q.messages[i].visibleAt = time.Now().Add(time.Duration(in.VisibilityTimeout) * time.Second)
	_, _ = io.WriteString(w, "{}")
}
