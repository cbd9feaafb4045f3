package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// lifetime is longer than any data directory is kept.
const lifetime = 10 * 365 * 24 * time.Hour

// serverTemplate returns the certificate of the API server, valid for loopback
// addresses and the names of the kubernetes Service.
func serverTemplate() *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

// ProxyName is the name of the aggregation layer in its client certificate.
const ProxyName = "front-proxy"

// proxyTemplate returns the client certificate of the aggregation layer.
func proxyTemplate() *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: ProxyName},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// ensureAuthority creates a certificate authority and the one certificate that it
// signs, unless all three files exist. The authority's key is not stored, because
// nothing else is ever signed with it.
func ensureAuthority(caPath, name, certPath, keyPath string, leaf *x509.Certificate) error {
	if exists(caPath, certPath, keyPath) {
		return nil
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	ca := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	if ca, err = sign(caPath, ca, ca, &caKey.PublicKey, caKey); err != nil {
		return err
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := writeKey(keyPath, leafKey); err != nil {
		return err
	}
	leaf.KeyUsage = x509.KeyUsageDigitalSignature
	_, err = sign(certPath, leaf, ca, &leafKey.PublicKey, caKey)
	return err
}

// sign signs a certificate and writes it to a file.
func sign(path string, cert, parent *x509.Certificate, public *ecdsa.PublicKey, signer *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	cert.SerialNumber = serial
	cert.NotBefore = time.Now().Add(-time.Hour)
	cert.NotAfter = time.Now().Add(lifetime)
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, public, signer)
	if err != nil {
		return nil, err
	}
	if err := write(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})); err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// ensureKey creates the key for service account tokens unless it exists.
func ensureKey(path string) error {
	if exists(path) {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return writeKey(path, key)
}

// writeKey writes a private key in PEM.
func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return write(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}
