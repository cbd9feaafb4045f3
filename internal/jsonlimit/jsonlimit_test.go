package jsonlimit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// values returns the number of decoded values, and how deep they are nested.
func values(v any) (count, depth int) {
	var children []any
	switch v := v.(type) {
	case map[string]any:
		for _, c := range v {
			children = append(children, c)
		}
	case []any:
		children = v
	default:
		return 1, 0
	}
	for _, c := range children {
		n, d := values(c)
		count, depth = count+n, max(depth, d)
	}
	return count + 1, depth + 1
}

// TestCounter compares the counter with what decoding finds, however the text is divided.
func TestCounter(t *testing.T) {
	for _, text := range []string{
		`{}`, `[1, 2, 3]`, `{"a": {"b": [true, null, "x"]}, "c": []}`,
		`{"a,b": "[{,\"}]", "\\": "\\\",", "c": ["\\", ","]}`, `[[[[[[1]]]]]]`,
		`[` + strings.Repeat(`{"":0},`, 1000) + `1]`,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		count, depth := values(v)
		for size := range 4 {
			c := NewCounter(Limits{count, depth})
			for rest := text; rest != ""; {
				n := min(size+1, len(rest))
				if _, err := c.Write([]byte(rest[:n])); err != nil {
					t.Fatalf("%.80s: %v", text, err)
				}
				rest = rest[n:]
			}
		}
		if depth > 0 && Check([]byte(text), Limits{count, depth - 1}) == nil {
			t.Errorf("%.80s: its depth of %d is no error", text, depth)
		}
	}
	for text, want := range map[string]string{
		`[` + strings.Repeat(`1,`, 100):    "it has more than 100 values",
		" \n" + strings.Repeat(`{},`, 100): "it has more than 100 values",
		strings.Repeat("1,", 1000):         "<nil>", // CSV
		strings.Repeat(`{"":`, 100):        "it has more than 10 levels",
	} {
		if err := Check([]byte(text), Limits{100, 10}); fmt.Sprint(err) != want {
			t.Errorf("%.40s: %v; want %s", text, err, want)
		}
	}
}
