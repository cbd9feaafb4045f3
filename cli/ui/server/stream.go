package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// maxStreams is the number of open streams. A page has two.
	maxStreams = 40
	// writeTimeout limits the time of one event: a page that doesn't read is closed.
	writeTimeout = 30 * time.Second
	// beatEvery is the interval of comments, which show on both ends that the other is there.
	beatEvery = 10 * time.Second
)

// Send sends an event to a page. An error means that the page is closed.
type Send func(event string, data any) error

// stream answers a request with server-sent events until produce returns. The context of
// produce ends with the page, and with the server.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, produce func(context.Context, Send) error) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		refuse(w, http.StatusServiceUnavailable, "too many pages are open")
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	e := &events{w: w, control: http.NewResponseController(w), failed: cancel}
	w.Header().Set("Content-Type", "text/event-stream")
	// A page whose connection ends tries again after this time, in milliseconds.
	if e.write("retry: 1000\n\n") != nil {
		return
	}
	beats := make(chan struct{})
	go func() {
		defer close(beats)
		e.beat(ctx)
	}()
	_ = produce(ctx, e.send) // the reader is gone, or the server ends
	cancel()
	<-beats // it uses w
}

// events writes to one page. It is safe for concurrent use.
type events struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	failed  context.CancelFunc
}

// send implements [Send]. JSON has no newlines, so an event is one line of data.
func (e *events) send(event string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return e.write(fmt.Sprintf("event: %s\ndata: %s\n\n", event, text))
}

func (e *events) write(text string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		_, err = e.w.Write([]byte(text))
	}
	if err = errors.Join(err, e.control.Flush()); err != nil {
		e.failed()
	}
	return err
}

// beat sends comments until ctx is done.
func (e *events) beat(ctx context.Context) {
	for {
		select {
		case <-time.After(beatEvery):
			if e.write(": beat\n\n") != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
