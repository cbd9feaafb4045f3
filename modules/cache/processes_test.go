package cache

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// roleVariable selects what a child process of the tests does; dirVariable is the
// directory of its cache, and countVariable a file with one byte per download.
const (
	roleVariable  = "CACHE_TEST_ROLE"
	dirVariable   = "CACHE_TEST_DIR"
	countVariable = "CACHE_TEST_COUNT"
)

// bigContent is the content that the processes of TestColdCache share.
var bigContent = strings.Repeat("0123456789abcdef", 1<<16)

// TestMain runs the role of a child process, or the tests.
func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	roles := map[string]func(c *Cache) error{"fetch": fetchRole, "hang": hangRole, "churn": churnRole}
	if err := roles[role](Open(Options{Dir: os.Getenv(dirVariable), MaxBytes: 64 << 10})); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child returns a process with a role.
func child(t *testing.T, role, dir, count string) *exec.Cmd {
	self, err := os.Executable()
	check(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, dirVariable+"="+dir, countVariable+"="+count)
	cmd.Stderr = os.Stderr
	return cmd
}

// fetchRole gets one content as soon as stdin ends.
func fetchRole(c *Cache) error {
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	data, err := c.Get(context.Background(), digestOf(bigContent), -1, func(context.Context) (io.ReadCloser, error) {
		f, err := os.OpenFile(os.Getenv(countVariable), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		_, err = f.WriteString("x")
		return io.NopCloser(strings.NewReader(bigContent)), errors.Join(err, f.Close())
	})
	if err == nil && string(data) != bigContent {
		err = errors.New("wrong content")
	}
	return err
}

// TestColdCache checks that 50 processes that want the same content download it
// once.
func TestColdCache(t *testing.T) {
	dir, count := filepath.Join(t.TempDir(), "cache"), filepath.Join(t.TempDir(), "count")
	// All processes wait until the pipe is closed, and start together.
	r, w, err := os.Pipe()
	check(t, err)
	var children []*exec.Cmd
	for range 50 {
		cmd := child(t, "fetch", dir, count)
		cmd.Stdin = r
		check(t, cmd.Start())
		children = append(children, cmd)
	}
	check(t, w.Close())
	for _, cmd := range children {
		check(t, cmd.Wait())
	}
	check(t, r.Close())
	if data, err := os.ReadFile(count); string(data) != "x" {
		t.Errorf("%d downloads, not 1 (%v)", len(data), err)
	}
}

// hangRole starts a download that sends half of the content, writes a line to
// stdout and hangs.
func hangRole(c *Cache) error {
	_, err := c.Get(context.Background(), digestOf("half and half"), -1, func(context.Context) (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() {
			fmt.Fprint(w, "half")
			fmt.Println("ready")                 // the reader has taken the half
			_, _ = io.Copy(io.Discard, os.Stdin) // until the process is killed
		}()
		return r, nil
	})
	return err
}

// TestKilledFetch checks that a process which is killed during a download leaves
// nothing that another one would wait for or take for the content.
func TestKilledFetch(t *testing.T) {
	dir := t.TempDir()
	for range 50 {
		cmd := child(t, "hang", dir, "")
		_, err := cmd.StdinPipe()
		check(t, err)
		out, err := cmd.StdoutPipe()
		check(t, err)
		check(t, cmd.Start())
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("the child printed %q, %v; %v", line, err, cmd.Wait())
		}
		check(t, cmd.Process.Kill())
		_ = cmd.Wait() // "signal: killed"
		c := Open(Options{Dir: dir, MaxAge: 1})
		if c.Has(digestOf("half and half")) {
			t.Fatal("half of a download was stored")
		}
		var s source
		s.get(t, c, "half and half")
		if s.fetched != 1 {
			t.Fatalf("%d downloads, not 1", s.fetched)
		}
		c.Close()
		// The killed process used the content; its mark must not keep it.
		c = Open(c.options)
		c.Evict(t.Context())
		if stats := c.Stats(); stats.Entries != 0 {
			t.Fatalf("%+v: the content of a killed process stays", stats)
		}
	}
	for part, most := range map[string]int{tmp: 0, inUse: 0, locks: 1} {
		if entries, err := os.ReadDir(filepath.Join(dir, part)); err != nil || len(entries) > most {
			t.Errorf("%s has %v, %v", part, entries, err)
		}
	}
}

// churnContent returns one of 40 contents of 4 KiB.
func churnContent(i int) string { return strings.Repeat(fmt.Sprintf("%04d", i%40), 1<<10) }

// churnRole gets contents in random order until it is killed or stdin ends. Content
// that it has got once must stay: it is in use.
func churnRole(c *Cache) error {
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	fmt.Println("ready")
	// Eight contents are in use at a time, so 5 processes can use more than the limit.
	for {
		mine := map[int]bool{}
		for range 8 {
			select {
			case <-ended:
				return nil
			default:
			}
			i := rand.IntN(40)
			var s source
			data, err := c.Get(context.Background(), digestOf(churnContent(i)), -1, s.serve(churnContent(i)))
			if err != nil || string(data) != churnContent(i) {
				return fmt.Errorf("content %d: %v", i, err)
			}
			mine[i] = true
			for i := range mine {
				if !c.Has(digestOf(churnContent(i))) {
					return fmt.Errorf("content %d was evicted while it is in use", i)
				}
			}
		}
		c.Close()
		c = Open(c.options)
	}
}

// TestEvictConcurrently checks that processes which evict never remove what others
// use, also if some of them are killed.
func TestEvictConcurrently(t *testing.T) {
	dir := t.TempDir()
	type process struct {
		cmd   *exec.Cmd
		stdin io.Closer
	}
	start := func() process {
		cmd := child(t, "churn", dir, "")
		stdin, err := cmd.StdinPipe()
		check(t, err)
		out, err := cmd.StdoutPipe()
		check(t, err)
		check(t, cmd.Start())
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("the child printed %q, %v", line, err)
		}
		return process{cmd, stdin}
	}
	var running []process
	for range 5 {
		running = append(running, start())
	}
	// This process works as the others do, between the kills of others.
	var s source
	for i := range 50 {
		victim := start()
		for j := range i % 7 {
			c := Open(Options{Dir: dir, MaxBytes: 64 << 10})
			s.get(t, c, churnContent(i+j))
			c.Close()
		}
		check(t, victim.cmd.Process.Kill())
		_ = victim.cmd.Wait() // "signal: killed"
	}
	for _, p := range running {
		check(t, p.stdin.Close())
		check(t, p.cmd.Wait())
	}
	c := Open(Options{Dir: dir, MaxBytes: 64 << 10})
	c.Evict(t.Context())
	if stats := c.Stats(); stats.SizeBytes > 64<<10 || stats.Entries == 0 {
		t.Errorf("after all processes: %+v", stats)
	}
	for _, i := range c.directory().list(blobs) {
		data, _, err := c.directory().read(blobs, i.name)
		if err != nil || hexOf(data) != i.name {
			t.Errorf("%s is damaged (%v)", i.name, err)
		}
	}
}
