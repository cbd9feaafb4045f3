package sqs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/redact"
	"github.com/pequod-io/pequod/actions/source"
)

// Queue is a queue with the access to it.
type Queue struct {
	// URL is that of the queue. Requests go to the root of its host.
	URL, Region string
	// CABundle has the certificates of the authorities as PEM; empty means the system's.
	CABundle string
	// Credentials returns the key that requests are signed with.
	Credentials func(context.Context) (aws.Credentials, error)
	Client      *egress.Client
	Now         func() time.Time
}

// message is a message as the server sends it.
type message struct {
	MessageID         string `json:"MessageId"`
	ReceiptHandle     string
	Body              string
	Attributes        map[string]string
	MessageAttributes map[string]struct{ StringValue string }
}

// message returns the message for expressions. Its attributes are headers.
func (m message) message() source.Message {
	headers := http.Header{}
	for name, value := range m.MessageAttributes {
		headers.Set(name, value.StringValue)
	}
	for _, name := range []string{"SentTimestamp", "MessageGroupId"} {
		if value := m.Attributes[name]; value != "" {
			headers.Set(name, value)
		}
	}
	return source.New(m.MessageID, headers, []byte(m.Body))
}

// receive waits for messages.
func (q Queue) receive(ctx context.Context, most int) ([]message, error) {
	var answer struct{ Messages []message }
	err := q.call(ctx, "ReceiveMessage", map[string]any{
		"QueueUrl": q.URL, "MaxNumberOfMessages": most, "WaitTimeSeconds": poll, "VisibilityTimeout": visibility,
		"MessageSystemAttributeNames": []string{"SentTimestamp", "MessageGroupId"}, "MessageAttributeNames": []string{"All"},
	}, &answer)
	return answer.Messages, err
}

// remove deletes a message.
func (q Queue) remove(ctx context.Context, m message) error {
	return q.call(ctx, "DeleteMessage", map[string]any{"QueueUrl": q.URL, "ReceiptHandle": m.ReceiptHandle}, nil)
}

// hide keeps a message invisible for some more time.
func (q Queue) hide(ctx context.Context, m message) error {
	return q.call(ctx, "ChangeMessageVisibility", map[string]any{"QueueUrl": q.URL, "ReceiptHandle": m.ReceiptHandle, "VisibilityTimeout": visibility}, nil)
}

// call sends a signed request.
func (q Queue) call(ctx context.Context, action string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	queue, err := url.Parse(q.URL)
	if err != nil {
		return errors.New("queueURL is not valid")
	}
	at := (&url.URL{Scheme: queue.Scheme, Host: queue.Host, Path: "/"}).String()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	credentials, err := q.Credentials(ctx)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(sum[:]), "sqs", q.Region, q.Now()); err != nil {
		return fmt.Errorf("%s: signing: %w", action, err)
	}
	response, err := q.Client.Do(ctx, egress.Request{Method: http.MethodPost, URL: at, Header: request.Header, Body: text, CABundle: q.CABundle})
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	if response.Status != http.StatusOK {
		known := redact.New(credentials.SecretAccessKey, credentials.SessionToken)
		return fmt.Errorf("%s: the server answers %d%s", action, response.Status, known.Text(typeOf(response.Body)))
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(response.Body, answer); err != nil {
		return fmt.Errorf("%s: the answer isn't JSON", action)
	}
	return nil
}

// typeOf returns the type of an error. Its message may quote what was signed.
func typeOf(body []byte) string {
	var problem struct {
		Type string `json:"__type"`
	}
	if err := json.Unmarshal(body, &problem); err != nil || problem.Type == "" {
		return ""
	}
	_, name, found := strings.Cut(problem.Type, "#")
	if !found {
		name = problem.Type
	}
	return " " + name
}

// tooLarge reports whether an answer was larger than egress allows.
func tooLarge(err error) bool {
	var refused *egress.Refused
	return errors.As(err, &refused) && strings.HasPrefix(refused.Why, "the response is larger")
}
