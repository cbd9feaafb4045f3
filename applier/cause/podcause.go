package cause

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/internal/source"
)

// maxLine is the maximum length of a line, which quotes controllers and kubelets.
const maxLine = 300

// podCause is why one Pod isn't ready.
type podCause struct {
	rank rank
	pod  string    // name of the Pod
	uid  types.UID // of the Pod
	text string
	// created is when the Pod was created: of several Pods with causes of the same rank,
	// the oldest one.
	created time.Time
	// eventReasons are the reasons of the Pod's Events that could add a detail.
	eventReasons []string
	// eventDetail returns the detail in the message of such an Event, "" if it
	// has none. It is nil if eventReasons is empty.
	eventDetail func(message string) string
}

// rank orders causes, the most informative one first.
type rank int

// An image that can't be pulled comes first, because nothing else can be known about
// the container. Causes that need a change come before those that may pass.
const (
	rankImage rank = iota
	rankConfig
	rankCrash
	rankEnded
	rankUnscheduled
	rankStarting // from here on the Pod may still become ready without a change
	rankSchedulingGate
	rankNotReady
	rankNone // no cause: the Pod is ready or has succeeded
)

// line returns the text of the cause with the Pod's name, a detail that may be
// empty, and the number of Pods that have the same cause.
func (c podCause) line(pods int, detail string) string {
	line := "pod " + c.pod + ": " + c.text + detail
	if pods < 2 {
		return line
	}
	// Shorten the line so that a long message doesn't cut off the number.
	suffix := fmt.Sprintf("; %d pods alike", pods)
	return source.OneLine(line, maxLine-len(suffix)) + suffix
}

// consider replaces the cause by another one of the same Pod that is more
// informative.
func (c *podCause) consider(other podCause) {
	if other.rank < c.rank {
		other.pod, other.uid, other.created = c.pod, c.uid, c.created
		*c = other
	}
}

// join joins the reason and the message of a status; either may be empty.
func join(reason, message string) string {
	switch {
	case reason == "":
		return message
	case message == "":
		return reason
	}
	return reason + ": " + message
}
