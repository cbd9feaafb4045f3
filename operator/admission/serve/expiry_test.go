package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestExpiry checks that the metric is the end of the certificate that is in the files now, and
// that there is none without files.
func TestExpiry(t *testing.T) {
	dir := t.TempDir()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(Expiry{func() (*tls.Certificate, error) { return loadPair(dir) }})
	if families, err := reg.Gather(); err != nil || len(families) > 0 {
		t.Errorf("without a certificate: %v, %v", families, err)
	}
	for _, end := range []time.Time{time.Now().Add(time.Hour), time.Now().Add(48 * time.Hour)} {
		writePair(t, dir, end)
		families, err := reg.Gather()
		if err != nil || len(families) != 1 {
			t.Fatalf("%v, %v", families, err)
		}
		if got := families[0].Metric[0].GetGauge().GetValue(); int64(got) != end.Unix() {
			t.Errorf("expires at %v; want %v", got, end.Unix())
		}
	}
}

// writePair writes a self-signed certificate that is valid until end.
func writePair(t *testing.T, dir string, end time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: end}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: cert}, "tls.key": {Type: "PRIVATE KEY", Bytes: encoded},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
