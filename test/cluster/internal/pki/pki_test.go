package pki

import (
	"crypto/tls"
	"crypto/x509"
	"maps"
	"os"
	"strings"
	"testing"
)

func TestEnsure(t *testing.T) {
	dir := t.TempDir()
	users := []User{{Name: "admin", Groups: []string{"system:masters"}}, {Name: "nobody"}}
	first, err := Ensure(dir, users)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("the server's certificate is signed for where it listens", func(t *testing.T) {
		pair, err := tls.LoadX509KeyPair(first.ServerCert, first.ServerKey)
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range []string{"127.0.0.1", "localhost"} {
			_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: pool(t, first.CA), DNSName: host})
			if err != nil {
				t.Errorf("%s: %v", host, err)
			}
		}
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool(t, first.ProxyCA)}); err == nil {
			t.Error("the other authority vouches for the server too")
		}
	})

	t.Run("tokens differ and name their groups", func(t *testing.T) {
		if first.Tokens["admin"] == first.Tokens["nobody"] || len(first.Tokens["admin"]) != 32 {
			t.Errorf("tokens: %v", first.Tokens)
		}
		lines := read(t, first.TokenFile)
		if want := first.Tokens["admin"] + `,admin,admin,"system:masters"` + "\n"; !strings.HasPrefix(lines, want) {
			t.Errorf("token file: %q lacks %q", lines, want)
		}
	})

	t.Run("a second start keeps all of it", func(t *testing.T) {
		before := contents(t, dir)
		second, err := Ensure(dir, users)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(before, contents(t, dir)) || !maps.Equal(first.Tokens, second.Tokens) {
			t.Error("something was made anew")
		}
	})
}

func pool(t *testing.T, path string) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(read(t, path))) {
		t.Fatalf("%s: no certificate", path)
	}
	return pool
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, entry := range entries {
		all[entry.Name()] = read(t, dir+"/"+entry.Name())
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
