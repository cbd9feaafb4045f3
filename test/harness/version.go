package harness

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

// Since reports whether the cluster has a version, such as "1.36", or a later one.
func (c *Cluster) Since(minor string) (bool, error) {
	want, err := version.ParseGeneric(minor)
	if err != nil {
		return false, err
	}
	info, err := c.Client.Discovery().ServerVersion()
	if err != nil {
		return false, err
	}
	have, err := version.ParseGeneric(info.GitVersion)
	return err == nil && have.AtLeast(want), err
}

// Requires skips a test of something that Kubernetes has since a version, such as "1.36",
// if the cluster is older. `make compat` runs the tests on older versions.
func (c *Cluster) Requires(t testing.TB, minor string) {
	t.Helper()
	if since, err := c.Since(minor); err != nil {
		t.Fatal(err)
	} else if !since {
		t.Skipf("this test needs Kubernetes %s", minor)
	}
}
