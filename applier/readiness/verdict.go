package readiness

import (
	"fmt"

	"github.com/pequod-io/pequod/internal/source"
)

// State is the readiness of an object.
type State string

// The states of an object.
const (
	Ready       State = "Ready"
	Progressing State = "Progressing"
	Failed      State = "Failed"
	// Undecided objects don't tell whether they are ready. They aren't, unless package
	// cause finds that out from their Events.
	Undecided State = "Undecided"
	// Degraded objects aren't ready because their Pods fail again and again. Only package
	// cause finds that out.
	Degraded State = "Degraded"
)

// Verdict is the result of evaluating an object.
type Verdict struct {
	State State
	// Message is one short line with the reason why the object isn't ready. It is empty if
	// the object is ready without a remark.
	Message string
}

// maxMessage is the maximum length of a message, which may quote what a
// controller wrote into the object's status.
const maxMessage = 300

// progressing returns the verdict on an object that may become ready by itself.
func progressing(format string, args ...any) Verdict {
	return Verdict{Progressing, source.OneLine(fmt.Sprintf(format, args...), maxMessage)}
}

// failed returns the verdict on an object that won't become ready without a change.
func failed(format string, args ...any) Verdict {
	return Verdict{Failed, source.OneLine(fmt.Sprintf(format, args...), maxMessage)}
}
