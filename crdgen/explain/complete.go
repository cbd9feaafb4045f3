package explain

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/crdgen/openapi"
)

// Completion is a continuation of an argument of [Parse], with a description of one line.
type Completion struct{ Text, Description string }

// Complete returns the continuations of a part of an argument: kinds up to the first dot,
// then the fields of the field before the last one. There are none if that is unknown.
func Complete(kinds []openapi.Kind, part, apiVersion string) []Completion {
	dot := strings.LastIndexByte(part, '.')
	if dot < 0 {
		return completeKinds(kinds, part)
	}
	k, path, err := Parse(kinds, part[:dot], apiVersion)
	if err != nil {
		return nil
	}
	f, err := Find(k, path)
	if err != nil {
		return nil
	}
	var all []Completion
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names(k, f.Schema)))) {
		if !strings.HasPrefix(name, part[dot+1:]) {
			continue
		}
		in, _ := holder(k, f.Schema, name)
		all = append(all, Completion{part[:dot+1] + name, firstLine(in.Properties[name].Description)})
	}
	return all
}

// completeKinds completes the name of a kind, in lower case.
func completeKinds(kinds []openapi.Kind, part string) []Completion {
	var all []Completion
	for _, k := range kinds {
		c := Completion{strings.ToLower(k.Kind), firstLine(k.Schema.Description)}
		if strings.HasPrefix(c.Text, strings.ToLower(part)) && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
