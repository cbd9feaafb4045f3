package receiver

import (
	"github.com/pequod-io/pequod/internal/source"
)

// The reasons of the conditions of Receivers.
const (
	reasonReceiving   = "Receiving"
	reasonInvalid     = "InvalidReceiver"
	reasonDisabled    = "WebhooksDisabled"
	reasonUnavailable = "SecretUnavailable"
	reasonPaused      = "Paused"
	reasonConnecting  = "Connecting"
	reasonSource      = "SourceUnavailable"
)

// maxMessage is the size of the message of a condition in bytes.
const maxMessage = 1024

// message returns the message of a condition.
func message(text string) string { return source.OneLine(text, maxMessage) }
