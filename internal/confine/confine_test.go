package confine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The names of what a process tries, and where.
const tries, enters = "CONFINE_TEST_TRIES", "CONFINE_TEST_ENTERS"

// TestMain tries things in a process that is confined, or confines itself.
func TestMain(m *testing.M) {
	dir := os.Getenv(tries)
	if dir == "" {
		os.Exit(m.Run())
	}
	// Other threads than the one that enters the room must be confined, too.
	waiting := make(chan struct{})
	done := make(chan struct{})
	go func() {
		<-waiting
		try(dir)
		close(done)
	}()
	if os.Getenv(enters) != "" {
		if err := (Room{}).Enter(); err != nil {
			fmt.Println(err)
		}
	}
	close(waiting)
	<-done
}

// try prints what is possible.
func try(dir string) {
	report := func(what string, err error) {
		if err == nil {
			fmt.Print(what, " ")
		} else if !errors.Is(err, syscall.EACCES) && !errors.Is(err, syscall.EPERM) {
			fmt.Printf("%s: %v ", what, err)
		}
	}
	_, err := os.ReadFile(filepath.Join(dir, "read", "file"))
	report("read", err)
	_, err = os.ReadDir(filepath.Join(dir, "write"))
	report("list", err)
	report("write", os.WriteFile(filepath.Join(dir, "write", "new"), nil, 0o600))
	report("rename", os.Rename(filepath.Join(dir, "write", "file"), filepath.Join(dir, "write", "sub", "file")))
	report("overwrite", os.WriteFile(filepath.Join(dir, "read", "file"), nil, 0o600))
	report("run", exec.Command("/bin/true").Run())
	report("outside", os.WriteFile(filepath.Join(dir, "outside"), nil, 0o600))
	connection, err := net.Dial("tcp", os.Getenv("CONFINE_TEST_ADDRESS"))
	report("connect", err)
	if err == nil {
		connection.Close()
	}
}

func TestRoom(t *testing.T) {
	if missing := Missing(); missing != "" {
		t.Skip("the kernel can't limit " + missing)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	for name, test := range map[string]struct {
		room  func(dir string) Room
		enter bool
		want  string
	}{
		"nothing":         {room: func(string) Room { return Room{} }},
		"nothing, itself": {enter: true, room: func(string) Room { return Room{} }},
		"read":            {room: func(dir string) Room { return Room{Read: []string{filepath.Join(dir, "read")}} }, want: "read"},
		"a file":          {room: func(dir string) Room { return Room{Read: []string{filepath.Join(dir, "read", "file"), dir + "/no"}} }, want: "read"},
		"write":           {room: func(dir string) Room { return Room{Write: []string{filepath.Join(dir, "write")}} }, want: "list write rename"},
		"run":             {room: func(string) Room { return Room{Run: append([]string{"/bin/true"}, Libraries...)} }, want: "run"},
		"connect":         {room: func(string) Room { return Room{Network: true} }, want: "connect"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range []string{"read/file", "write/file", "write/sub/other"} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), tries+"="+dir, "CONFINE_TEST_ADDRESS="+listener.Addr().String())
			var out strings.Builder
			cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Minute
			if test.enter {
				cmd.Env = append(cmd.Env, enters+"=yes")
				err = cmd.Start()
			} else {
				room := test.room(dir)
				room.Run = append(append(room.Run, self), Libraries...) // a test binary may need libraries
				err = room.Start(cmd)
			}
			if err == nil {
				err = cmd.Wait()
			}
			if got := strings.TrimSpace(out.String()); err != nil || got != test.want {
				t.Errorf("%q, %v; want %q", got, err, test.want)
			}
		})
	}
	if _, err := os.ReadFile("/etc/passwd"); err != nil {
		t.Errorf("this process is confined, too: %v", err)
	}
}
