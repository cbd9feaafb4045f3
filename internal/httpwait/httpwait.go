// Package httpwait has what the clients of servers that are busy have in common.
//
//   - [Demanded] returns how long a server wants to be left alone.
//   - [Wait] waits.
package httpwait

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// MaxDemanded is the longest time that [Demanded] returns.
const MaxDemanded = 24 * time.Hour

// Demanded returns how long a server wants to be left alone, and whether it says so: by the header Retry-After in
// seconds or as a date (RFC 9110, section 10.2.3), or by the headers X-RateLimit-Remaining and
// X-RateLimit-Reset of GitHub and GitLab.
func Demanded(header http.Header, now time.Time) (wait time.Duration, known bool) {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		wait, known = time.Duration(min(seconds, int(MaxDemanded/time.Second)))*time.Second, true
	} else if at, err := http.ParseTime(text); err == nil {
		wait, known = at.Sub(now), true
	} else if reset, err := strconv.ParseInt(header.Get("X-Ratelimit-Reset"), 10, 64); err == nil && header.Get("X-Ratelimit-Remaining") == "0" {
		wait, known = time.Unix(min(reset, now.Unix()+int64(MaxDemanded/time.Second)), 0).Sub(now), true
	}
	return min(max(wait, 0), MaxDemanded), known
}

// Wait waits for d, or until ctx ends, and returns the cause of that.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
