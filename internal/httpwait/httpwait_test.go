package httpwait

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"
)

func TestDemanded(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		header map[string]string
		want   time.Duration
		known  bool
	}{
		"nothing":            {nil, 0, false},
		"seconds":            {map[string]string{"Retry-After": "90"}, 90 * time.Second, true},
		"at once":            {map[string]string{"Retry-After": "0"}, 0, true},
		"negative":           {map[string]string{"Retry-After": "-5"}, 0, true},
		"too long":           {map[string]string{"Retry-After": "9223372036854775807"}, MaxDemanded, true},
		"no number":          {map[string]string{"Retry-After": "99999999999999999999"}, 0, false},
		"a date":             {map[string]string{"Retry-After": "Mon, 30 Nov 2026 12:01:00 GMT"}, time.Minute, true},
		"a past date":        {map[string]string{"Retry-After": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0, true},
		"garbage":            {map[string]string{"Retry-After": "soon"}, 0, false},
		"no requests left":   {map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1796040030"}, 30 * time.Second, true},
		"requests left":      {map[string]string{"X-RateLimit-Remaining": "5", "X-RateLimit-Reset": "1796040030"}, 0, false},
		"both":               {map[string]string{"Retry-After": "7", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1796040030"}, 7 * time.Second, true},
		"the end of the era": {map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9223372036854775807"}, MaxDemanded, true},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			for key, value := range test.header {
				header.Set(key, value)
			}
			if got, known := Demanded(header, now); got != test.want || known != test.known {
				t.Errorf("%s, %t; want %s, %t", got, known, test.want, test.known)
			}
		})
	}
}

func TestWait(t *testing.T) {
	if err := Wait(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
	cause := errors.New("the end")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := Wait(ctx, time.Hour); !errors.Is(err, cause) {
		t.Error(err)
	}
}
