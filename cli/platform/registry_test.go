package platform

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/modules/oci"
)

// TestLogin checks that commands use the credentials of "cue login" for the artifacts
// that users name, and not only for imported modules.
func TestLogin(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Write([]byte(`{"name": "acme/web", "tags": ["v1.0.0"]}`))
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	dir := t.TempDir()
	t.Setenv("CUE_CONFIG_DIR", dir)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	logins := `{"registries": {"` + host + `": {"access_token": "secret", "token_type": "Bearer"}}}`
	if err := os.WriteFile(filepath.Join(dir, "logins.json"), []byte(logins), 0o600); err != nil {
		t.Fatal(err)
	}
	var flags RegistryFlags
	flags.AddFlags(&cobra.Command{})
	client, err := flags.Client()
	if err != nil {
		t.Fatal(err)
	}
	ref, err := oci.ParseRef("oci://" + host + "/acme/web")
	if err != nil {
		t.Fatal(err)
	}
	if tags, err := client.Tags(t.Context(), ref); err != nil || len(tags) != 1 {
		t.Errorf("Tags() = %v, %v", tags, err)
	}
}
