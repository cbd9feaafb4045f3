// Package source has the messages of Receivers, wherever they come from. Each folder is one
// source: webhook receives requests, poll requests an address, amqp and sqs consume queues.
//
// [New] makes a message, and [Error] says what becomes of one that had no effect.
package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/internal/jsonlimit"
)

// MaxBody is the size of the largest body of a message in bytes.
const MaxBody = 1 << 20

// Message is one message.
type Message struct {
	// ID is the sender's name of the message, or "".
	ID string
	// Headers are by their names in lower case. None has a credential.
	Headers map[string]any
	// Body is a JSON value, or a string if the body is none.
	Body any
	// Digest is the SHA-256 of the body in hexadecimal.
	Digest string
	// Size is the number of bytes of the body.
	Size int
	// Excess is why the body isn't decoded, or "".
	Excess string
}

// New returns a message. Headers with credentials are left out. A body that is larger than MaxBody, or
// has more values than [jsonlimit.Message] allows, isn't decoded.
func New(id string, headers http.Header, body []byte) Message {
	sum := sha256.Sum256(body)
	m := Message{ID: id, Headers: map[string]any{}, Digest: hex.EncodeToString(sum[:]), Size: len(body)}
	for name, values := range headers {
		if name = strings.ToLower(name); !secret(name) {
			m.Headers[name] = strings.Join(values, ", ")
		}
	}
	if len(body) > MaxBody {
		m.Excess = fmt.Sprintf("the body has %d bytes, more than %d", m.Size, MaxBody)
		return m
	}
	if err := jsonlimit.Check(body, jsonlimit.Message); err != nil {
		m.Excess = "the body is too large: " + err.Error()
		return m
	}
	if err := utiljson.Unmarshal(body, &m.Body); err != nil {
		m.Body = string(body) // e.g. a form
	}
	return m
}

// secret reports whether a header has a credential, or proves that the sender has one.
func secret(name string) bool {
	switch name {
	case "authorization", "proxy-authorization", "cookie", "x-gitlab-token", "x-signature", "x-hub-signature", "x-hub-signature-256":
		return true
	}
	return false
}

// Class is what becomes of a message that had no effect.
type Class int

// The classes of errors.
const (
	// Unavailable messages have to be delivered again, however often: the API server or
	// another server is away.
	Unavailable Class = iota
	// Failed messages may succeed if something is changed in the cluster, such as a role.
	Failed
	// Refused messages never have an effect.
	Refused
	// Outdated messages are about an object that is gone. For a queue they are done.
	Outdated
)

// String returns the class as a value of metrics.
func (c Class) String() string { return [...]string{"unavailable", "failed", "refused", "outdated"}[c] }

// Error is why a message had no effect, or not all of them.
type Error struct {
	Class   Class
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// ClassOf returns the class of an error. Errors of unknown types are failures.
func ClassOf(err error) Class {
	if known := (*Error)(nil); errors.As(err, &known) {
		return known.Class
	}
	return Failed
}

// Pause waits for a time, or until ctx is done.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
