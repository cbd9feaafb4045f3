package shape

import "testing"

func TestAdmitsName(t *testing.T) {
	lower := KeyPattern{Key: Shape{{Kind: StringKind, Strings: Strings{Patterns: []string{"^[a-z]+$"}}}}, Values: Any()}
	for _, test := range []struct {
		name   string
		object Object
		field  string
		want   bool
	}{
		{"declared", Object{Fields: []Field{{Name: "a"}}}, "a", true},
		{"not declared", Object{Fields: []Field{{Name: "a"}}}, "b", false},
		{"open", Object{Open: true}, "b", true},
		{"map", Object{Values: Any()}, "b", true},
		{"map with a pattern for some keys", Object{Values: Any(), Patterns: []KeyPattern{lower}}, "B", true},
		{"key of the pattern", Object{Values: Any(), KeysClosed: true, Patterns: []KeyPattern{lower}}, "b", true},
		{"other key", Object{Values: Any(), KeysClosed: true, Patterns: []KeyPattern{lower}}, "B", false},
		{"declared beside a pattern", Object{Fields: []Field{{Name: "A"}}, KeysClosed: true, Patterns: []KeyPattern{lower}}, "A", true},
		{"unknown pattern", Object{Values: Any(), KeysClosed: true, Patterns: []KeyPattern{{Values: Any()}}}, "B", true},
	} {
		if got := test.object.AdmitsName(test.field); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
