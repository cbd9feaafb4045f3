// Package rabbitmq starts a real RabbitMQ, of Debian's package rabbitmq-server, for a test.
//
// [Start] is the entry point. A test is skipped where there is none, and fails if CI is true.
package rabbitmq

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/tied"
)

// program is the server of Debian's package. The one in the PATH needs the user rabbitmq.
const program = "/usr/lib/rabbitmq/bin/rabbitmq-server"

// patience is how long the server may take to start on a busy machine.
const patience = 8 * time.Minute

// Broker is a running broker, behind a proxy that can cut connections.
type Broker struct {
	// Direct is the address of the broker, HOST:PORT, and Address that of the proxy.
	Direct, Address string

	listener net.Listener
	mu       sync.Mutex
	open     map[net.Conn]bool
}

// Start starts a broker, which ends with the test.
func Start(t testing.TB) *Broker {
	t.Helper()
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("rabbitmq-server is not installed: apt-get install rabbitmq-server")
		}
		t.Skip("rabbitmq-server is not installed: apt-get install rabbitmq-server")
	}
	dir := t.TempDir()
	ports := freePorts(t, 3)
	// Without this one, the server starts a name server of Erlang that never ends.
	names, err := filepath.Glob("/usr/lib/erlang/erts-*/bin/epmd")
	if err != nil || len(names) == 0 {
		t.Fatalf("no epmd: %v", err)
	}
	run(t, exec.Command(names[0], "-port", ports[2], "-address", "127.0.0.1"))
	server := exec.Command(program)
	server.Env = append(os.Environ(),
		"HOME="+dir, "RABBITMQ_NODENAME=t"+ports[0]+"@localhost", "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1",
		"RABBITMQ_NODE_PORT="+ports[0], "RABBITMQ_DIST_PORT="+ports[1], "ERL_EPMD_PORT="+ports[2], "ERL_EPMD_ADDRESS=127.0.0.1",
		"RABBITMQ_MNESIA_BASE="+dir, "RABBITMQ_LOG_BASE="+dir, "RABBITMQ_LOGS=-", "RABBITMQ_PID_FILE="+filepath.Join(dir, "pid"),
		"RABBITMQ_ENABLED_PLUGINS_FILE="+filepath.Join(dir, "plugins"), "RABBITMQ_CONF_ENV_FILE="+filepath.Join(dir, "none"),
		"RABBITMQ_CONFIG_FILE="+filepath.Join(dir, "none"), "ERL_CRASH_DUMP="+os.DevNull)
	log := &started{done: make(chan struct{})}
	server.Stdout, server.Stderr = log, log
	ended := run(t, server)
	select {
	case <-log.done:
	case <-ended:
		t.Fatalf("the broker has ended:\n%s", log)
	case <-time.After(patience):
		t.Fatalf("the broker has not started:\n%s", log)
	}
	b := &Broker{Direct: net.JoinHostPort("127.0.0.1", ports[0]), open: map[net.Conn]bool{}}
	if b.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.listener.Close() // it is open
		b.Cut()
	})
	b.Address = b.listener.Addr().String()
	go b.forward()
	return b
}

// run starts a process and kills it when the test ends.
func run(t testing.TB, cmd *exec.Cmd) (ended chan struct{}) {
	t.Helper()
	// The server is a script with children, which are in its process group.
	if err := tied.Start(cmd); err != nil {
		t.Fatal(err)
	}
	ended = make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // they may have ended
		<-ended
	})
	return ended
}

// freePorts returns ports that nothing listens on, and that nobody else is given until the test ends.
func freePorts(t testing.TB, n int) (ports []string) {
	t.Helper()
	for range n {
		reserved, address, err := faults.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { reserved.Close() }) // it has no data
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, port)
	}
	return ports
}

// started is a log that notices the end of the start.
type started struct {
	mu   sync.Mutex
	text strings.Builder
	once sync.Once
	done chan struct{}
}

// Write implements [io.Writer].
func (s *started) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if strings.Contains(s.text.String(), "Server startup complete") {
		s.once.Do(func() { close(s.done) })
	}
	return len(p), nil
}

// String returns the log.
func (s *started) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// forward forwards connections until the listener is closed.
func (b *Broker) forward() {
	for {
		client, err := b.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		broker, err := net.Dial("tcp", b.Direct)
		if err != nil {
			client.Close()
			continue
		}
		b.mu.Lock()
		b.open[client], b.open[broker] = true, true
		b.mu.Unlock()
		for _, pair := range [][2]net.Conn{{client, broker}, {broker, client}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1]) // until one of them is closed
				b.close(client, broker)
			}()
		}
	}
}

func (b *Broker) close(conns ...net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range conns {
		c.Close() // it may be closed
		delete(b.open, c)
	}
}

// Cut closes all connections through the proxy.
func (b *Broker) Cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.open {
		c.Close()
		delete(b.open, c)
	}
}
