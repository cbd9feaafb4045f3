package source

import "testing"

func TestHint(t *testing.T) {
	names := []string{"db", "deployment", "service", "services", "production"}
	for _, test := range []struct{ got, want string }{
		{"servce", `did you mean "service"?`},
		{"service", `did you mean "service"?`},
		{"deploymnets", `did you mean "deployment"?`},
		{"bd", `did you mean "db"?`},
		{"sevrice", `did you mean "service"?`},
		{"dba", `did you mean "db"?`},
		{"prod", `did you mean "production"?`},
		{"dep", `did you mean "deployment"?`},
		{"pr", ""},
		{"serv", ""}, // of two
		{"x", ""},
		{"", ""},
		{"configmap", ""},
	} {
		if got := Hint(test.got, names); got != test.want {
			t.Errorf("Hint(%q) = %q, want %q", test.got, got, test.want)
		}
	}
}
