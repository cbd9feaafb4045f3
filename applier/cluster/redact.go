package cluster

import (
	"cmp"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/applier/engine"
)

// redactSecret replaces the values of a Secret in the message of a failure by
// ***. The API server and webhooks quote what they refuse, and messages end up in
// logs, Events and the graph's status. Errors about other objects are returned
// unchanged.
func redactSecret(err error, object map[string]any) error {
	var f *engine.Failure
	if !errors.As(err, &f) || !graph.IsSecret(object) {
		return err
	}
	redacted := *f
	for _, value := range secretValues(object) {
		redacted.Message = strings.ReplaceAll(redacted.Message, value, "***")
	}
	return &redacted
}

// secretValues returns the values of a Secret, each as it is, encoded and decoded,
// the longest first so that a value that contains another is replaced as a whole.
//
// Values of one or two characters are left out: they occur in most messages by
// chance.
func secretValues(object map[string]any) []string {
	const minLength = 3
	var values []string
	add := func(text string) {
		if len(text) >= minLength {
			values = append(values, text)
		}
	}
	for _, field := range []string{"data", "stringData"} {
		entries, _ := object[field].(map[string]any)
		for _, v := range entries {
			s, _ := v.(string)
			add(s)
			add(base64.StdEncoding.EncodeToString([]byte(s)))
			if plain, err := base64.StdEncoding.DecodeString(s); err == nil {
				add(string(plain))
			}
		}
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return values
}
