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

// hideValues takes the values of a Secret out of what is said of it: the API
// server, and webhooks even more so, quote what they refuse.
func hideValues(err error, object map[string]any) error {
	var f *engine.Failure
	if !errors.As(err, &f) || !graph.IsSecret(object) {
		return err
	}
	hidden := *f
	for _, value := range secretValues(object) {
		hidden.Message = strings.ReplaceAll(hidden.Message, value, "***")
	}
	return &hidden
}

// secretValues are the values of a Secret, encoded and not, the longest first.
// Those of a character or two stand in most messages by chance.
func secretValues(object map[string]any) []string {
	const shortest = 3
	var values []string
	add := func(text string) {
		if len(text) >= shortest {
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
