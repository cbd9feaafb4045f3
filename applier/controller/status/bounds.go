package status

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

const (
	// A graph is stored together with its status, in at most 1.5 MiB (etcd's
	// --max-request-bytes). Outputs and messages of nodes have no bound each, so
	// all outputs and all messages share these, in bytes.
	maxOutputs  = 128 << 10
	maxMessages = 128 << 10
	// maxRequested is the number of bytes of the annotation that asks for a
	// reconciliation which the status repeats.
	maxRequested = 256
)

// outputs returns the values of a graph's outputs as the status holds them, and a
// text about those that have no value or don't fit.
//
// Outputs take their room in the order of their names, so that the same graph
// always loses the same ones. An output that is too large doesn't keep a later,
// smaller one out.
func outputs(values map[string]any, errs map[string]error) (map[string]runtime.RawExtension, string) {
	var omitted []string
	for _, name := range slices.Sorted(maps.Keys(errs)) {
		omitted = append(omitted, errs[name].Error())
	}
	outputs, room := make(map[string]runtime.RawExtension, len(values)), maxOutputs
	for _, name := range slices.Sorted(maps.Keys(values)) {
		raw, err := json.Marshal(values[name])
		switch {
		case err != nil:
			omitted = append(omitted, fmt.Sprintf("outputs.%s: %v", name, err))
		case len(outputs) == v1alpha1.MaxOutputs:
			omitted = append(omitted, fmt.Sprintf("outputs.%s: omitted, a status holds at most %d outputs", name, v1alpha1.MaxOutputs))
		case len(raw) > room:
			omitted = append(omitted, fmt.Sprintf("outputs.%s: omitted, its %d KiB exceed the %d KiB that all outputs share",
				name, (len(raw)+1023)>>10, maxOutputs>>10))
		default:
			outputs[name], room = runtime.RawExtension{Raw: raw}, room-len(raw)
		}
	}
	// The field is omitted and not stored as an empty map.
	if len(outputs) == 0 {
		outputs = nil
	}
	return outputs, joinFirst(omitted)
}

// joinFirst joins the first three texts, and counts the others: "a; b; c; and 4
// more". It returns an empty string if there are none.
func joinFirst(texts []string) string {
	const most = 3
	shown := slices.Clone(texts[:min(len(texts), most)])
	if more := len(texts) - most; more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, "; ")
}

// messageLimit returns the number of bytes that each of the messages may have. As
// long as all of them fit together, that is the limit of the API. Otherwise they
// share the room equally: one message of a thousand then has 131 bytes.
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
