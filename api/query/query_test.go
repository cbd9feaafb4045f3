package query

import (
	"strings"
	"testing"
)

// TestParse accepts one query, and refuses everything else.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"query AppState { application { health } }": "",
		"{ application { health } }":                "",
		"# mutation\n{ a }":                         "",
		"mutation { stop }":                         "a mutation is refused",
		"# comment\nmutation { stop }":              "a mutation is refused",
		"subscription { changes }":                  "a subscription is refused",
		"query A { a } mutation B { b }":            "has 2 operations",
		"fragment F on T { a }":                     "has 0 operations",
		"{ application { }":                         "line 1, column 17",
		"{ a " + strings.Repeat("b ", 20000) + "}":  "token limit",
	} {
		_, err := Parse(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.40s: %v, want %q", text, err, want)
		}
	}
}

// TestMissing finds the fields that a query doesn't select.
func TestMissing(t *testing.T) {
	t.Parallel()
	q, err := Parse(`query {
		application { ...F health: condition any items { id } ... on Other { extra } }
	}
	fragment F on Application { status ...G }
	fragment G on Application { pending ...F }`)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"application": "", "application.health": "", "application.status": "", "application.pending": "", "application.extra": "",
		"application.condition": "application.condition", "application.any.thing": "", "application.items.id": "",
		"application.items.name": "application.items.name", "other": "other", "application.items.name.x": "application.items.name",
	} {
		var keys []any
		for _, key := range strings.Split(path, ".") {
			keys = append(keys, key)
			if key == "items" {
				keys = append(keys, 0)
			}
		}
		if got := q.Missing(keys); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
