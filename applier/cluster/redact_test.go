package cluster

import (
	"testing"

	"github.com/pequod-io/pequod/applier/engine"
)

func TestRedactSecret(t *testing.T) {
	secret := func(field, value string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Secret", field: map[string]any{"password": value}}
	}
	tests := map[string]struct {
		object        map[string]any
		message, want string
	}{
		"plain":        {secret("stringData", "hunter2"), "password hunter2 is too short", "password *** is too short"},
		"encoded":      {secret("stringData", "hunter2"), `data: "aHVudGVyMg=="`, `data: "***"`},
		"decoded":      {secret("data", "aHVudGVyMg=="), "hunter2 is too short", "*** is too short"},
		"short":        {secret("stringData", "is"), "this is refused", "this is refused"},
		"not a Secret": {map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "hunter2"}}, "hunter2 is bad", "hunter2 is bad"},
		"not base64":   {secret("data", "hunter2!"), "illegal base64 data: hunter2!", "illegal base64 data: ***"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := redactSecret(&engine.Failure{Message: test.message}, test.object)
			if got.Error() != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
