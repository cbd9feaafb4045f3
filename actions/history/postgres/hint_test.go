package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestHints checks what is told about errors, and which are about rows only.
func TestHints(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code     string
		migrates bool
		hint     string
		rejected bool
	}{
		{"42P01", false, "pequod-actions creates the tables", false},
		{"42P01", true, "", false},
		{"42501", false, "the user needs the right to SELECT", false},
		{"42501", true, "the user must be able to create tables", false},
		{"22021", true, "", true},
		{"23502", true, "", true},
		{"53100", true, "", false},
	} {
		err := fmt.Errorf("inserting: %w", &pgconn.PgError{Code: test.code})
		hint := (&Store{migrate: test.migrates}).hint(err)
		if !strings.HasPrefix(hint, test.hint) || (test.hint == "") != (hint == "") {
			t.Errorf("%s: hint %q, want %q", test.code, hint, test.hint)
		}
		if got := rejected(err); got != test.rejected {
			t.Errorf("%s: rejected: %t", test.code, got)
		}
	}
	if rejected(errors.New("connection refused")) {
		t.Error("a lost connection is about rows")
	}
}
