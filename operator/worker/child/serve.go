package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/operator/worker/protocol"
	"github.com/pequod-io/pequod/render"
)

// Serve answers the requests from in until it ends, and returns the exit code of the process.
// The caller must end the process then, since an evaluation may still be running.
func Serve(in io.Reader, out io.Writer) int {
	debug.SetGCPercent(gcPercent)
	if err := restrict(); err != nil {
		fmt.Fprintf(os.Stderr, "evaluation process: %v\n", err)
		return 1
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	// The goroutine reads ahead, so that the end of the pool ends an evaluation, too.
	frames := make(chan []byte)
	go func() {
		limit := uint32(protocol.MaxRequest)
		for n := 0; ; n++ {
			frame, err := protocol.ReadFrame(in, limit)
			if err != nil {
				cancel(err)
				return
			}
			// The second frame has the sources.
			if limit = protocol.MaxRequest; n == 0 {
				limit = protocol.MaxSources
			}
			select {
			case frames <- frame:
			case <-ctx.Done():
				return
			}
		}
	}()
	err := serve(ctx, frames, out)
	if err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintf(os.Stderr, "evaluation process: %v\n", err)
		return 1
	}
	return 0
}

// gcPercent is how much the heap may grow between collections. Package render lowers it as
// the heap grows. Evaluations make much garbage and keep little.
const gcPercent = 400

// restAfter is the time without requests after which a child gives its memory back.
const restAfter = 5 * time.Second

// errEnds ends a child whose evaluation goes on in the background.
var errEnds = errors.New("an evaluation exceeded its limits")

// serve answers requests until ctx ends, which is when the input ends. The first request
// must load a platform.
func serve(ctx context.Context, frames <-chan []byte, out io.Writer) error {
	s := &session{}
	next := func() ([]byte, error) {
		rest := time.NewTimer(restAfter)
		defer rest.Stop()
		for {
			select {
			case frame := <-frames:
				return frame, nil
			case <-rest.C:
				s.rest()
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	}
	for {
		frame, err := next()
		if err != nil {
			return err
		}
		var request protocol.Request
		if err := json.Unmarshal(frame, &request); err != nil {
			return fmt.Errorf("reading a request: %w", err)
		}
		answer := &protocol.Answer{}
		switch {
		case request.Load != nil && s.platform == nil:
			var sources []byte
			if sources, err = next(); err != nil {
				return err
			}
			err = s.load(ctx, request.Load, sources)
		case s.platform == nil:
			return errors.New("the first request must load a platform")
		case request.Describe != nil:
			answer.Description, err = s.describe(ctx)
		case request.Sample != nil:
			answer.Samples, err = s.sample(ctx, *request.Sample)
		case request.Render != nil:
			err = s.render(ctx, *request.Render, answer)
		case request.Convert != nil:
			err = s.convert(ctx, *request.Convert, answer)
		default:
			return errors.New("an unknown request")
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		answer.ID = request.ID
		ends := false
		if err != nil {
			answer.Failure = failureOf(err)
			ends = answer.Failure.Limit != ""
		}
		data, err := protocol.Encode(answer)
		if err != nil {
			return fmt.Errorf("encoding an answer: %w", err)
		}
		if len(data) > protocol.MaxAnswer {
			return fmt.Errorf("an answer of %d bytes is longer than %d", len(data), protocol.MaxAnswer)
		}
		if err := protocol.WriteFrame(out, data); err != nil {
			return fmt.Errorf("writing an answer: %w", err)
		}
		if ends {
			return errEnds
		}
	}
}

// failureOf returns an error as a message.
func failureOf(err error) *protocol.Failure {
	var problems problem.List
	var limit *render.LimitError
	switch {
	case errors.As(err, &limit):
		return &protocol.Failure{Limit: limit.Reason}
	case errors.As(err, &problems):
		return &protocol.Failure{Problems: problems}
	case errors.Is(err, errCorrupt):
		return &protocol.Failure{Corrupt: true}
	}
	return &protocol.Failure{Error: err.Error()}
}
