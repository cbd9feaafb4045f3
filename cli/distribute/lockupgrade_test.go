package distribute

import "testing"

func TestNewestRelease(t *testing.T) {
	tags := []string{"v1.9.0", "v1.10.0", "v1.11.0-rc.1", "v2.0.0", "v1", "latest", "v0.9.0", "1.12.0"}
	for version, want := range map[string]string{
		"v1.4.0": "v1.10.0", "v1.10.0": "", "v1.10.0-rc.1": "v1.10.0", "v2.0.0": "", "v0.1.0": "v0.9.0", "v3.0.0": "",
	} {
		if got := newestRelease(version, tags); got != want {
			t.Errorf("newestRelease(%s) = %q; want %q", version, got, want)
		}
	}
}
