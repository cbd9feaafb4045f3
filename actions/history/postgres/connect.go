package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/pequod-io/pequod/actions/history"
)

// timeout limits one use of the database, and the time to connect to it.
const timeout = 10 * time.Second

// maxRead is how many bytes pequod-actions reads on one connection, so that a server can't fill its
// memory. The answers to all that it sends have a few hundred bytes each.
const maxRead = 16 << 20

// maxURL is the size of the largest file with a URL.
const maxURL = 8 << 10

// Store is the history in one database. It has at most one connection, and connects again after
// an error. It is safe for concurrent use.
type Store struct {
	file string
	// migrate is set if the tables are created.
	migrate bool

	mu   sync.Mutex
	conn *pgx.Conn // nil if it isn't connected
	// secret is the password of the last connection, and unread what can still be read on it.
	secret string
	unread *io.LimitedReader
}

// Open returns the history in the database whose URL, as of libpq, is in a file. It sends
// nothing. The file is read for each connection, so that a password can be replaced.
func Open(file string) *Store { return &Store{file: file, migrate: true} }

// OpenReadOnly is Open for a database whose tables exist.
func OpenReadOnly(file string) *Store { return &Store{file: file} }

// CheckURL returns an error unless the file has a URL of a connection. The error never has its
// contents.
func CheckURL(file string) error {
	_, err := parse(file)
	return err
}

// parse returns the configuration in a file.
func parse(file string) (*pgx.ConnConfig, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(string(raw))
	if len(text) > maxURL || !strings.HasPrefix(text, "postgres://") && !strings.HasPrefix(text, "postgresql://") {
		return nil, fmt.Errorf("%s: want one URL such as postgres://USER:PASSWORD@HOST/DATABASE", file)
	}
	config, err := pgx.ParseConfig(text)
	if err != nil {
		// The library's error quotes the URL.
		return nil, fmt.Errorf("%s: the URL is not valid; want postgres://USER:PASSWORD@HOST/DATABASE", file)
	}
	if config.ConnectTimeout == 0 || config.ConnectTimeout > timeout {
		config.ConnectTimeout = timeout
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "pequod"
	}
	return config, nil
}

// use calls do with the connection. After an error it connects again the next time.
func (s *Store) use(ctx context.Context, do func(context.Context, *pgx.Conn) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if s.conn != nil && s.unread.N < maxRead/2 {
		s.close()
	}
	if s.conn == nil || s.conn.IsClosed() {
		if err := s.connect(ctx); err != nil {
			return s.clean(err)
		}
	}
	if err := do(ctx, s.conn); err != nil {
		s.close()
		if rejected(err) {
			return &history.RejectedError{Err: s.clean(err)}
		}
		return s.clean(err)
	}
	return nil
}

// rejected reports whether an error is about the values of rows: of the classes 22 (data) and 23
// (integrity) of PostgreSQL.
func rejected(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (strings.HasPrefix(e.Code, "22") || strings.HasPrefix(e.Code, "23"))
}

// connect connects, and creates the tables.
func (s *Store) connect(ctx context.Context) error {
	config, err := parse(s.file)
	if err != nil {
		return err
	}
	s.secret = config.Password
	config.BuildFrontend = s.frontend
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	s.conn = conn
	if !s.migrate {
		return nil
	}
	if err := migrate(ctx, conn, migrations); err != nil {
		s.close()
		return err
	}
	return nil
}

// frontend returns what reads the messages of a connection. Their number is limited, and their size
// before memory is allocated for them. Only what a command reads for its user has any size.
func (s *Store) frontend(r io.Reader, w io.Writer) *pgproto3.Frontend {
	s.unread = &io.LimitedReader{R: r, N: maxRead}
	if !s.migrate {
		s.unread.N = math.MaxInt64
	}
	f := pgproto3.NewFrontend(s.unread, w)
	f.SetMaxBodyLen(maxRead)
	return f
}

// close drops the connection.
func (s *Store) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Close(ctx) // the server notices by itself
	s.conn = nil
}

// Close ends the connection.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.close()
	}
}

// clean returns an error in one line, without the password.
func (s *Store) clean(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if s.secret != "" {
		text = strings.ReplaceAll(text, s.secret, "***")
	}
	text = "history in PostgreSQL: " + text
	if h := s.hint(err); h != "" {
		text += "; " + h
	}
	return errors.New(text)
}

// hint returns what can be done about an error, or "".
func (s *Store) hint(err error) string {
	var (
		refused *pgconn.PgError
		away    *pgconn.ConnectError
	)
	switch {
	case errors.As(err, &refused) && refused.Code == "42P01" && !s.migrate:
		return "pequod-actions creates the tables when it runs with --history-url-file for this database"
	case errors.As(err, &refused) && refused.Code == "42501" && !s.migrate:
		return "the user needs the right to SELECT from revisions and runs"
	case errors.As(err, &refused) && refused.Code == "42501":
		return "the user must be able to create tables in the schema"
	case errors.As(err, &away) && refused == nil && !s.migrate:
		return "the URL is used from here, where names of Services in the cluster are not known"
	}
	return ""
}
