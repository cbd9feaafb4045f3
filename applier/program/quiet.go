package program

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// The lines of one text that are logged: linesAtOnce, and then one each linesEvery. Of more than
// maxTexts texts at a time, the others count as one.
const (
	linesAtOnce = 10
	linesEvery  = 10 * time.Minute
	maxTexts    = 1000
)

// quiet bounds lines that repeat, whose number others decide, such as clients with failing TLS
// handshakes.
type quiet struct {
	mu    sync.Mutex
	now   func() time.Time
	texts map[string]*repeated
}

// repeated is a text that has been logged lately.
type repeated struct {
	limit *rate.Limiter
	left  int // lines that were left out since the last one
}

// admit reports whether a line with a text is logged, and adds to its values how many were left out
// since the last one.
func (q *quiet) admit(text string, values ...any) ([]any, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	if q.texts[text] == nil {
		// A full limiter is as good as a new one.
		maps.DeleteFunc(q.texts, func(_ string, r *repeated) bool { return r.limit.TokensAt(now) >= linesAtOnce })
		if len(q.texts) >= maxTexts {
			text = ""
		}
	}
	r := q.texts[text]
	if r == nil {
		r = &repeated{limit: rate.NewLimiter(rate.Every(linesEvery), linesAtOnce)}
		q.texts[text] = r
	}
	if !r.limit.AllowN(now, 1) {
		r.left++
		return nil, false
	}
	if r.left > 0 {
		values = append(values[:len(values):len(values)], "leftOut", r.left)
	}
	r.left = 0
	return values, true
}

// lines logs lines written to it, such as errors of net/http servers.
type lines struct {
	log   logr.Logger
	quiet *quiet
}

// Write compares lines up to the first number, which may be the address of a client.
func (l lines) Write(p []byte) (int, error) {
	line := strings.TrimSpace(string(p))
	if values, ok := l.quiet.admit(line[:strings.IndexAny(line+"0", "0123456789[")]); ok {
		l.log.Info(line, values...)
	}
	return len(p), nil
}

// handleErrors bounds what libraries log of errors that they can't return, such as those of watches of kinds
// that can't be listed.
func handleErrors(q *quiet) {
	logError := utilruntime.ErrorHandlers[0]
	utilruntime.ErrorHandlers[0] = func(ctx context.Context, err error, message string, values ...any) {
		if values, ok := q.admit(fmt.Sprint(message, ": ", err), values...); ok { // err may be nil
			logError(ctx, err, message, values...)
		}
	}
}
