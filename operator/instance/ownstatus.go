package instance

import "k8s.io/apimachinery/pkg/api/equality"

// ownStatus decides about the fields of the module's #Status: an output with the name of one is
// written to it.
type ownStatus struct {
	// names are the names of the fields.
	names []string
	// former are the values that the API server has refused last, or nil.
	former *refusedStatus
}

// refusedStatus are values that don't have the types of #Status. Late references get their values
// from live objects, so this shows only when they are written.
type refusedStatus struct {
	fields map[string]any
	why    string
}

// ownFields returns the fields of from that have a name of a field of #Status and of an output.
func ownFields(names []string, outputs, from map[string]any) map[string]any {
	var own map[string]any
	for _, name := range names {
		_, isOutput := outputs[name]
		value, ok := from[name]
		if !isOutput || !ok {
			continue
		}
		if own == nil {
			own = map[string]any{}
		}
		own[name] = value
	}
	return own
}

// of returns the fields for the outputs of a graph. Stored are those that the instance has, which
// stay if the API server has refused the others.
func (o ownStatus) of(outputs, stored map[string]any) map[string]any {
	if o.refused(outputs) != "" {
		return stored
	}
	return ownFields(o.names, outputs, outputs)
}

// refused returns why the fields for some outputs are not written, or "".
func (o ownStatus) refused(outputs map[string]any) string {
	if o.former == nil || !equality.Semantic.DeepEqual(o.former.fields, ownFields(o.names, outputs, outputs)) {
		return ""
	}
	return o.former.why
}
