package controller

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
)

// A graph is stored together with its status, in at most 1.5 MiB (etcd's
// --max-request-bytes). What has no bound of its own shares these, in bytes.
const (
	maxOutputs  = 128 << 10
	maxMessages = 128 << 10
)

// maxRequested is how much of the annotation that asks for a reconciliation the
// status repeats; who waits for it compares the two.
const maxRequested = 256

// outputs are the values of the graph's outputs, and of those that have none or
// don't fit why that is.
func (r *run) outputs() (map[string]runtime.RawExtension, string) {
	values, errs := r.engine.Outputs()
	var without []string
	for _, name := range slices.Sorted(maps.Keys(errs)) {
		without = append(without, errs[name].Error())
	}
	outputs, room := make(map[string]runtime.RawExtension, len(values)), maxOutputs
	for _, name := range slices.Sorted(maps.Keys(values)) {
		raw, err := json.Marshal(values[name])
		switch {
		case err != nil:
			without = append(without, fmt.Sprintf("outputs.%s: %v", name, err))
		case len(outputs) == v1alpha1.MaxOutputs:
			without = append(without, fmt.Sprintf("outputs.%s: is left out, a status holds %d", name, v1alpha1.MaxOutputs))
		case len(raw) > room:
			without = append(without, fmt.Sprintf("outputs.%s: is left out, its %d KiB don't fit in the %d KiB that outputs have together",
				name, (len(raw)+1023)>>10, maxOutputs>>10))
		default:
			outputs[name], room = runtime.RawExtension{Raw: raw}, room-len(raw)
		}
	}
	if len(outputs) == 0 {
		outputs = nil
	}
	return outputs, listed(without)
}

// listed joins the first of some texts, and says how many there are beside them.
func listed(texts []string) string {
	const most = 3
	shown := slices.Clone(texts[:min(len(texts), most)])
	if more := len(texts) - most; more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, "; ")
}

// messageLimit is how long the message of each node may be.
func messageLimit(messages []string) int {
	total := 0
	for _, m := range messages {
		total += min(len(m), v1alpha1.MaxMessage)
	}
	if total <= maxMessages {
		return v1alpha1.MaxMessage
	}
	return maxMessages / len(messages)
}

// unwritable says why a graph's status will not be stored, whenever it is tried,
// "" if that isn't known: it is too large, as the API server says of a request and
// etcd of an object, or holds what the definition doesn't allow, such as a name
// that no object could have.
func unwritable(err error) (reason, message string) {
	switch {
	case err == nil:
		return "", ""
	case apierrors.IsRequestEntityTooLargeError(err), strings.Contains(err.Error(), "request is too large"):
		return reasonTooLarge, "the graph and its status are larger than the cluster can store; split the graph"
	case apierrors.IsInvalid(err):
		return reasonInvalid, "what the graph owns can't be written down: " + cluster.Classify(err).Message
	}
	return "", ""
}
