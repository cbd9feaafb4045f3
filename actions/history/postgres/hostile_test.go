package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/pequod-io/pequod/actions/history"
)

// buffers is how much more than is read may be in the buffers of the system: those of Linux grow to 32 MiB for the
// reader, and 4 MiB for the writer.
const buffers = 64 << 20

// message returns a message of the protocol.
func message(kind byte, body []byte) []byte {
	m := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))
	return append(m, body...)
}

// TestHostileServer has servers that send without end after the password: one large message, notices, and
// parameters that the library keeps. A bounded number of bytes is read, and the next attempt connects again.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	var parameters []byte
	for i := range 10_000 {
		parameters = append(parameters, message('S', fmt.Appendf(nil, "p%d\x00x\x00", i))...)
	}
	for name, server := range map[string]struct{ first, then []byte }{
		"a message of 1 GB": {binary.BigEndian.AppendUint32([]byte{'D'}, 1e9), make([]byte, 1<<20)},
		"notices":           {nil, message('N', append(bytes.Repeat([]byte{'M'}, 1<<20), 0, 0))},
		"parameters":        {nil, parameters},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			sent := make(chan int, 2)
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					sent <- flood(conn, server.first, server.then)
				}
			}()
			file := filepath.Join(t.TempDir(), "url")
			if err := os.WriteFile(file, []byte("postgres://u:p@"+l.Addr().String()+"/d?sslmode=disable"), 0o600); err != nil {
				t.Fatal(err)
			}
			s := Open(file)
			defer s.Close()
			for range 2 {
				if _, err := s.WriteRevisions(t.Context(), []history.Revision{revision(1, 1)}); err == nil {
					t.Error("rows were stored")
				}
				if n := <-sent; n > maxRead+buffers {
					t.Errorf("the server could send %d bytes", n)
				}
			}
		})
	}
}

// flood accepts any password, and sends until the client ends the connection, or 256 MiB. It returns the number
// of bytes.
func flood(conn net.Conn, first, then []byte) (n int) {
	defer conn.Close()
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return 0
	}
	if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(size[:]))-4); err != nil {
		return 0
	}
	for chunk := append(append(message('R', make([]byte, 4)), message('Z', []byte{'I'})...), first...); n < 256<<20; chunk = then {
		wrote, err := conn.Write(chunk)
		if n += wrote; err != nil {
			return n
		}
	}
	return n
}
