package oci

import (
	"context"
	"time"
)

// WithTiming returns options with other waits, so that tests don't wait.
func WithTiming(o Options, wait func(context.Context, time.Duration) error, stall time.Duration) Options {
	o.timing = timing{wait: wait, stall: stall}
	return o
}
