package egress

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// TestConnect checks that connections of other protocols obey the same list.
func TestConnect(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address := listener.Addr().String()
	for name, test := range map[string]struct {
		allow     []string
		plain     bool
		forbidden bool
		want      string
	}{
		"allowed":    {allow: []string{"127.0.0.0/8"}},
		"plain":      {allow: []string{"127.0.0.0/8", "http://127.0.0.1"}, plain: true},
		"not plain":  {allow: []string{"127.0.0.0/8"}, plain: true, want: "without TLS"},
		"not listed": {allow: []string{"example.com"}, want: "is not allowed"},
		"not public": {allow: []string{"127.0.0.1"}, want: "is not public"},
		"API server": {allow: []string{"127.0.0.0/8"}, forbidden: true, want: "the address is that of the API server"},
	} {
		allowed, err := ParseAllowed(test.allow)
		if err != nil {
			t.Fatal(err)
		}
		client := New(Options{Allowed: allowed, Forbidden: func(context.Context) ([]netip.AddrPort, error) {
			if test.forbidden {
				return []netip.AddrPort{netip.MustParseAddrPort(address)}, nil
			}
			return nil, nil
		}})
		conn, err := client.Connect(t.Context(), address, test.plain)
		if err == nil {
			conn.Close()
		}
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
