package reference

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPath(t *testing.T) {
	for _, test := range []struct {
		path Path
		want string
	}{
		{nil, ""},
		{Path{"spec", "ports", 0, "port"}, "spec.ports[0].port"},
		{Path{"metadata", "annotations", "a.b/c"}, `metadata.annotations["a.b/c"]`},
		{Path{"a.b", 1, 2}, `["a.b"][1][2]`},
		{Path{"data", "my-key_1", "", `"`}, `data.my-key_1[""]["\""]`},
		{Path{"data", "1st"}, `data["1st"]`},
	} {
		if got := test.path.String(); got != test.want {
			t.Errorf("%#v: %s, want %s", test.path, got, test.want)
		}
	}
	if p := (Path{"metadata", "name"}); !p.Is("metadata", "name") || p.Is("metadata") || p.Is("metadata", "uid") {
		t.Error("Path.Is is wrong")
	}
}

func TestFind(t *testing.T) {
	const besideHint = "a late reference replaces a whole value; compose values inside the CEL expression"
	for _, test := range []struct {
		name, json string
		want       Found
	}{
		{"scalars", `"{\"$from\": \"a.b\"}"`, Found{}},
		{"text is text", `{"a": "$from", "b": "${HOME} $generate", "c": ["$from"]}`, Found{}},
		{"in paths' order", `{"z": {"$from": "a.b"}, "l": [1, {"$from": "c"}, {"k": {"$from": "d"}}], "m": {"10": {"$from": "e"}}}`, Found{From: []From{
			{Path{"l", 1}, "c"},
			{Path{"l", 2, "k"}, "d"},
			{Path{"m", "10"}, "e"},
			{Path{"z"}, "a.b"},
		}}},
		{"the value itself", `{"$from": "a.b"}`, Found{From: []From{{nil, "a.b"}}}},
		{"other keys", `{"a": {"$from": "x", "default": 1, "b": {"$from": "y"}}}`, Found{Malformed: []Malformed{
			{Path{"a"}, "$from stands beside other keys: b, default", besideHint},
		}}},
		{"both keys", `{"a": {"$from": "x", "$generate": {}}}`, Found{Malformed: []Malformed{
			{Path{"a"}, "$from stands beside other keys: $generate", besideHint},
		}}},
		{"wrong types", `{"a": {"$from": 1}, "b": {"$from": {"$from": "x"}}, "c": {"$from": " "}, "d": {"$from": null}, "e": {"$from": true}, "f": {"$from": []}}`, Found{Malformed: []Malformed{
			{Path{"a"}, "$from is a number, not a CEL expression", ""},
			{Path{"b"}, "$from is a map, not a CEL expression", ""},
			{Path{"c"}, "$from is empty", ""},
			{Path{"d"}, "$from is null, not a CEL expression", ""},
			{Path{"e"}, "$from is a boolean, not a CEL expression", ""},
			{Path{"f"}, "$from is a list, not a CEL expression", ""},
		}}},
		{"generate", `{"stringData": {"a": {"$generate": {"length": 32}}, "b": {"$generate": {"length": 8, "charset": "hex"}}}}`, Found{Generate: []Generate{
			{Path{"stringData", "a"}, 32, "alphanumeric"},
			{Path{"stringData", "b"}, 8, "hex"},
		}}},
		{"generate, broken", `{"a": {"$generate": 3}, "b": {"$generate": {}}, "c": {"$generate": {"length": 1.5, "charset": "x", "n": 1}}, "d": {"$generate": {"length": 99999}}, "e": {"$generate": {"length": 1}, "k": 1}}`, Found{Malformed: []Malformed{
			{Path{"a"}, "$generate is a number, not a map", `as in {"$generate": {"length": 32}}`},
			{Path{"b"}, "$generate.length is missing", ""},
			{Path{"c"}, "$generate.charset is unknown", "one of alphanumeric, alphabetic, numeric, hex, printable"},
			{Path{"c"}, "$generate.length is not a whole number from 1 to 4096", ""},
			{Path{"c"}, "$generate.n is unknown", "it has length and charset"},
			{Path{"d"}, "$generate.length is not a whole number from 1 to 4096", ""},
			{Path{"e"}, "$generate stands beside other keys: k", besideHint},
		}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var v any
			if err := json.Unmarshal([]byte(test.json), &v); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, Find(v)); diff != "" {
				t.Errorf("Find (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCharsets(t *testing.T) {
	for _, name := range Charsets() {
		seen := map[rune]bool{}
		for _, r := range Characters(name) {
			if seen[r] {
				t.Errorf("%s holds %q twice, which would make it likelier", name, r)
			}
			seen[r] = true
		}
		if len(seen) < 10 {
			t.Errorf("%s has %d characters", name, len(seen))
		}
	}
	if Characters("nonsense") != "" {
		t.Error("an unknown set has characters")
	}
}
