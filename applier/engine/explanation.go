package engine

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/applier/readiness"
)

// explanation is the result of Explain for the object with a UID.
type explanation struct {
	readiness.Verdict
	uid types.UID
}

// complete returns the verdict on an object with what is known from its explanation. The
// explanation decides the state of an undecided verdict, and makes a progressing one degraded.
func (x explanation) complete(seen *observation) readiness.Verdict {
	v := seen.verdict
	switch {
	case x.uid != seen.uid || v.State == readiness.Ready:
		return v
	case v.State == readiness.Undecided && x.State == readiness.Ready:
		return x.Verdict
	case v.State == readiness.Progressing && x.State == readiness.Degraded:
		v.State = readiness.Degraded
	}
	if x.Message != "" {
		v.Message += ": " + x.Message
	}
	return v
}
