package redact

import (
	"encoding/base64"
	"reflect"
	"testing"
)

const token = "tok-AAAABBBBCCCC-1234567890"

// TestText leaves nothing of a secret: as it is, encoded, in part, and within another one.
func TestText(t *testing.T) {
	r := New(token+"\n", "hunter2", "hunter2-of-production", "and", `a"b&c/d?e=f g`)
	for text, want := range map[string]string{
		"hunter2 and hunter2-of-production":              "[redacted] and [redacted]",
		"http://x/runs/" + token + "/state":              "http://x/runs/[redacted]/state",
		base64.StdEncoding.EncodeToString([]byte(token)): "[redacted]",
		"AAAABBBBCCCC":                  "[redacted]",
		"the user tok-AAAA BBBBCCCC-12": "the user [redacted] [redacted]",
		"1234567 of 1234567890":         "1234567 of [redacted]", // seven characters are no part
		"/a%22b&c%2Fd%3Fe=f%20g/":       "/[redacted]/",
		"?x=a%22b%26c%2Fd%3Fe%3Df+g&y":  "?x=[redacted]&y",
		`{"x": "a\"b\u0026c/d?e=f g"}`:  `{"x": "[redacted]"}`,
		"nothing of that kind":          "nothing of that kind",
		"":                              "",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if r.Leaks(text) != (text != want) {
			t.Errorf("%q: Leaks is %t", text, r.Leaks(text))
		}
	}
	r = New().And("postgres://db.example.com/app")
	if got := r.Text("postgres://db.example.com/app at db.example.com"); got != Mark+" at db.example.com" {
		t.Errorf("parts of a value: %q", got)
	}
	if got := (&Redactor{}).Text(token); got != token {
		t.Errorf("without secrets: %q", got)
	}
}

// TestValue redacts strings and names, and changes nothing of its argument.
func TestValue(t *testing.T) {
	value := map[string]any{"a": []any{token, int64(1), true, nil}, token: map[string]any{"b": "x " + token}}
	want := map[string]any{"a": []any{Mark, int64(1), true, nil}, Mark: map[string]any{"b": "x " + Mark}}
	if got := New(token).Value(value); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	if value["a"].([]any)[0] != token {
		t.Error("the argument was changed")
	}
}
