// Package postgres starts PostgreSQL servers for tests, from the programs of the system
// (apt-get install postgresql on Debian). A server has a directory of its own and listens on a
// Unix socket only.
//
// [Start] is the entry point. Without the programs, tests are skipped, but fail if CI is true.
package postgres

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// patience is how long a server may take to start on a busy machine.
const patience = 2 * time.Minute

// Password is in the URL of a server, so that tests can search for it. Servers don't check it.
const Password = "canary-of-the-database"

// Server is a PostgreSQL server.
type Server struct {
	// URLFile is a file with the URL of a database.
	URLFile string
	// URL is its content.
	URL string

	t      testing.TB
	bin    string
	dir    string // of the socket, with data below it
	as     *syscall.SysProcAttr
	cmd    *exec.Cmd
	output *bytes.Buffer
	exited chan struct{} // closed when cmd has ended
}

// programs returns the directory of initdb and postgres, "" if there is none.
func programs() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path)
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return ""
	}
	return filepath.Dir(slices.Max(found))
}

// Start starts an empty server, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, bin: programs()}
	if s.bin == "" {
		const reason = "no PostgreSQL: install the package postgresql of Debian"
		if ci, _ := strconv.ParseBool(os.Getenv("CI")); ci {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	// The path of a socket is short, which that of t.TempDir isn't.
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	s.dir = dir
	t.Cleanup(func() {
		s.Kill()
		os.RemoveAll(dir) // what can't be removed is in the temporary directory
	})
	s.own()
	if out, err := s.command("initdb", "-D", s.data(), "-U", "pequod", "-A", "trust", "-E", "UTF8", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	s.URL = "postgres://pequod:" + Password + "@/postgres?host=" + url.QueryEscape(dir)
	s.URLFile = filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(s.URLFile, []byte(s.URL+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Run()
	return s
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// own gives the directory to another user if the test runs as root, because PostgreSQL refuses to.
func (s *Server) own() {
	if os.Geteuid() != 0 {
		return
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		s.t.Fatal(err)
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		s.t.Fatal(err)
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chown(s.dir, int(uid), int(gid)); err != nil {
		s.t.Fatal(err)
	}
	s.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, s.as
	cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+s.dir)
	return cmd
}

// Run starts the server after [Server.Kill], and waits until it answers.
func (s *Server) Run() {
	s.t.Helper()
	s.start()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		select {
		case <-s.exited: // processes of the server before it hold its memory still
			s.start()
		default:
		}
		conn, err := pgx.Connect(s.t.Context(), s.URL)
		if err == nil {
			_ = conn.Close(s.t.Context())
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("PostgreSQL doesn't answer: %v\n%s", err, s.output)
		}
	}
}

func (s *Server) start() {
	s.t.Helper()
	s.output = &bytes.Buffer{}
	s.cmd = s.command("postgres", "-D", s.data(), "-k", s.dir, "-h", "", "-c", "fsync=off", "-c", "shared_buffers=16MB")
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	exited, cmd := make(chan struct{}), s.cmd
	s.exited = exited
	go func() {
		defer close(exited)
		_ = cmd.Wait() // killed, in the end
	}()
}

// Kill ends all processes of the server at once, as a crash of its machine does.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	// The children end when their parent has; those that don't hold the data directory.
	_ = s.cmd.Process.Kill()
	<-s.exited
	s.cmd = nil
	_ = os.Remove(filepath.Join(s.data(), "postmaster.pid"))
}

// Exec executes a statement, and Count returns the number that a query selects.
func (s *Server) Exec(statement string, args ...any) {
	s.t.Helper()
	s.with(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement, args...)
		return err
	})
}

// Count returns the number that a query selects.
func (s *Server) Count(query string, args ...any) (n int) {
	s.t.Helper()
	s.with(func(ctx context.Context, conn *pgx.Conn) error { return conn.QueryRow(ctx, query, args...).Scan(&n) })
	return n
}

func (s *Server) with(do func(context.Context, *pgx.Conn) error) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.URL)
	if err == nil {
		defer conn.Close(context.WithoutCancel(s.t.Context()))
		err = do(s.t.Context(), conn)
	}
	if err != nil {
		s.t.Fatal(fmt.Errorf("PostgreSQL: %w", err))
	}
}
