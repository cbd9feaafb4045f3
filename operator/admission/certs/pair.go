package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

// skew is how far a certificate begins in the past, for clocks that differ.
const skew = 5 * time.Minute

// pair is a certificate with its key and its authority, in PEM.
type pair struct{ cert, key, authority []byte }

// newPair makes an authority, and a certificate for hosts that it has signed. Both expire
// after the lifetime. The authority's key is dropped.
func newPair(hosts []string, now time.Time, lifetime time.Duration) (*pair, error) {
	ca := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "pequod-webhook-ca"},
		NotBefore: now.Add(-skew), NotAfter: now.Add(lifetime),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "pequod-webhook"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &pair{encode("CERTIFICATE", der), encode("PRIVATE KEY", keyDER), encode("CERTIFICATE", caDER)}, nil
}

// serial returns a random serial number. Browsers and Go accept 20 bytes.
func serial() *big.Int {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	return new(big.Int).SetBytes(random)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// certificate returns the certificate with its key as a TLS server uses it. The error is
// one of a pair that is not complete, or whose parts don't belong together.
func (p *pair) certificate() (*tls.Certificate, error) {
	c, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.authority)
	if _, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: c.Leaf.NotAfter.Add(-time.Second)}); err != nil {
		return nil, fmt.Errorf("its authority: %w", err)
	}
	return &c, nil
}

// covers reports whether a certificate is valid for all hosts.
func covers(c *x509.Certificate, hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(host string) bool { return c.VerifyHostname(host) != nil })
}

// bundle joins authorities that haven't expired, without duplicates, in their order.
func bundle(now time.Time, all ...[]byte) []byte {
	var joined []byte
	for _, text := range all {
		for {
			var block *pem.Block
			if block, text = pem.Decode(text); block == nil {
				break
			}
			c, err := x509.ParseCertificate(block.Bytes)
			if one := encode("CERTIFICATE", block.Bytes); err == nil && now.Before(c.NotAfter) && !bytes.Contains(joined, one) {
				joined = append(joined, one...)
			}
		}
	}
	return joined
}
