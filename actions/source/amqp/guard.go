package amqp

import (
	"encoding/binary"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/pequod-io/pequod/actions/redact"
)

// maxMessage is the size of the largest message in bytes that is received. It is the largest one
// that RabbitMQ takes by default.
const maxMessage = 16 << 20

// The frames of AMQP 0.9.1, section 2.3.5: a type, a channel, the size of the payload, the payload
// and an end. The payload of the header of a message begins with the class, a weight of 0 and the
// size of the body.
const (
	frameHeader   = 7
	frameEnd      = 1
	contentHeader = 12
	typeContent   = 2
)

// guard ends a connection before the client library assembles a message that is too large.
type guard struct {
	net.Conn
	// known has the password.
	known *redact.Redactor
	// head is the beginning of a frame, as far as it was read.
	head []byte
	// skip is the number of bytes until the next frame.
	skip uint64
	// refused is set when a message was too large.
	refused atomic.Pointer[error]
}

// Read implements [net.Conn]. The library calls it in one goroutine.
func (g *guard) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if refused := g.inspect(p[:n]); refused != nil {
		g.refused.Store(&refused)
		return 0, refused
	}
	return n, err
}

// inspect returns an error if a frame begins a message that is too large.
func (g *guard) inspect(data []byte) error {
	for len(data) > 0 {
		if g.skip > 0 {
			n := min(g.skip, uint64(len(data)))
			g.skip, data = g.skip-n, data[n:]
			continue
		}
		g.head, data = append(g.head, data[0]), data[1:]
		if len(g.head) < frameHeader {
			continue
		}
		size := uint64(binary.BigEndian.Uint32(g.head[3:]))
		content := g.head[0] == typeContent && size >= contentHeader
		switch {
		case !content:
			g.skip = size + frameEnd
		case len(g.head) < frameHeader+contentHeader:
			continue
		default:
			g.skip = size - contentHeader + frameEnd
			if body := binary.BigEndian.Uint64(g.head[frameHeader+4:]); body > maxMessage {
				return fmt.Errorf("a message in the queue has %d bytes, more than %d; remove it from the queue", body, maxMessage)
			}
		}
		g.head = g.head[:0]
	}
	return nil
}

// cause returns why the connection was ended: the refusal of a message, or else err.
func (g *guard) cause(err error) error {
	if refused := g.refused.Load(); refused != nil {
		return *refused
	}
	return g.clean(err)
}
