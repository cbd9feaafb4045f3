package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pequod-io/pequod/test/tied"
)

// patience is how long a server may take to start on a busy machine.
const patience = 2 * time.Minute

// stopPatience is how long it may take to end before it is killed.
const stopPatience = 10 * time.Second

// Password is in the URL of a server, so that tests can search for it. Servers don't check it.
const Password = "canary-of-the-database"

// ErrMissing is the error of [Create] if the programs aren't installed.
var ErrMissing = errors.New("no PostgreSQL: install the package postgresql of Debian")

// Database is a PostgreSQL server in a directory of its own.
type Database struct {
	// URL is the URL of a database.
	URL string

	bin    string
	dir    string              // of the socket, with data below it
	as     *syscall.Credential // or nil
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

// Create starts an empty server. The caller closes it.
func Create(ctx context.Context) (*Database, error) {
	// The path of a socket must be short, which that of a test's directory isn't.
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	return createIn(ctx, dir)
}

// createIn is Create in an empty directory.
func createIn(ctx context.Context, dir string) (_ *Database, err error) {
	d := &Database{bin: programs(), dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if d.bin == "" {
		return nil, ErrMissing
	}
	if err := d.own(); err != nil {
		return nil, err
	}
	initdb := d.command("initdb", "-D", d.data(), "-U", "pequod", "-A", "trust", "-E", "UTF8", "--no-sync", "--wal-segsize=1")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	d.URL = "postgres://pequod:" + Password + "@/postgres?host=" + url.QueryEscape(d.dir)
	return d, d.start(ctx)
}

// Close ends all processes of the server and removes its data.
func (d *Database) Close() error {
	if d.cmd != nil {
		// An immediate shutdown: the server ends its children and waits for them.
		_ = d.cmd.Process.Signal(syscall.SIGQUIT) // it may have ended
		select {
		case <-d.exited:
		case <-time.After(stopPatience):
		}
	}
	d.Kill()
	return os.RemoveAll(d.dir)
}

func (d *Database) data() string { return filepath.Join(d.dir, "data") }

// own gives the directory to another user if this process is root's, because PostgreSQL refuses to
// run as root.
func (d *Database) own() error {
	if os.Geteuid() != 0 {
		return nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	if err != nil {
		return err
	}
	d.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(d.dir, int(uid), int(gid))
}

func (d *Database) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(d.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = d.dir, &syscall.SysProcAttr{Credential: d.as}
	cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+d.dir)
	return cmd
}

// start starts the server, and waits until it answers.
func (d *Database) start(ctx context.Context) error {
	if err := d.launch(); err != nil {
		return err
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		select {
		case <-d.exited: // processes of the server before it hold its memory still
			if err := d.launch(); err != nil {
				return err
			}
		default:
		}
		conn, err := pgx.Connect(ctx, d.URL)
		if err == nil {
			return conn.Close(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(end) {
			d.Kill() // its output is complete then
			return fmt.Errorf("PostgreSQL doesn't answer: %w\n%s", err, d.output)
		}
	}
}

// launch starts the process of the server.
func (d *Database) launch() error {
	d.output = &bytes.Buffer{}
	cmd := d.command("postgres", "-D", d.data(), "-k", d.dir, "-h", "", "-c", "fsync=off", "-c", "shared_buffers=16MB")
	cmd.Stdout, cmd.Stderr = d.output, d.output
	if err := tied.Start(cmd); err != nil {
		return err
	}
	exited := make(chan struct{})
	d.cmd, d.exited = cmd, exited
	go func() {
		defer close(exited)
		_ = cmd.Wait() // killed, in the end
	}()
	return nil
}

// Kill ends the server at once, as a crash of its machine does.
func (d *Database) Kill() {
	if d.cmd == nil {
		return
	}
	// The children end when their parent has; those that don't hold the data directory.
	_ = d.cmd.Process.Kill()
	<-d.exited
	d.cmd = nil
	_ = os.Remove(filepath.Join(d.data(), "postmaster.pid"))
}
