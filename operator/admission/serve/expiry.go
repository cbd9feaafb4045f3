package serve

import (
	"crypto/tls"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
)

// expiryDesc describes the end of the certificate's validity.
var expiryDesc = prometheus.NewDesc("pequod_webhook_certificate_expiration_timestamp_seconds",
	"When the certificate of the webhook expires, in seconds since 1970.", nil, nil)

// Expiry collects the end of the certificate's validity. It has no series as long as there is no
// certificate.
type Expiry struct {
	// Certificate returns the certificate that is served.
	Certificate func() (*tls.Certificate, error)
}

// Describe implements [prometheus.Collector].
func (Expiry) Describe(to chan<- *prometheus.Desc) { to <- expiryDesc }

// Collect implements [prometheus.Collector].
func (e Expiry) Collect(to chan<- prometheus.Metric) {
	c, err := e.Certificate()
	if err != nil || c.Leaf == nil {
		return
	}
	to <- prometheus.MustNewConstMetric(expiryDesc, prometheus.GaugeValue, float64(c.Leaf.NotAfter.Unix()))
}

// loadPair reads the certificate in a directory, as the server does when its files change.
func loadPair(dir string) (*tls.Certificate, error) {
	c, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	return &c, err
}
