package oci_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/pequod-io/pequod/modules/oci"
)

// TestCredentials reads credentials from the files of Docker and Podman and from a
// credential helper. Wrong ones are refused without being printed.
func TestCredentials(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the credential helper is a script")
	}
	const secret = "very-secret-word"
	inner := registry.New(registry.Logger(discard))
	open := true // while the artifact is written
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if !open && (user != "me" || password != secret) {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"errors":[{"code":"UNAUTHORIZED","message":"`+password+`"}]}`)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	ref := parse(t, "oci://"+host+"/web:v1.0.0")
	img, _ := artifact(t)
	if err := client(t, oci.Options{}).Write(t.Context(), ref, img); err != nil {
		t.Fatal(err)
	}
	open = false
	auths := func(password string) string {
		return fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, base64.StdEncoding.EncodeToString([]byte("me:"+password)))
	}
	helper := "#!/bin/sh\nread host\n[ \"$host\" = " + host + " ] || exit 1\nprintf '{\"Username\":\"me\",\"Secret\":\"%s\"}' " + secret + "\n"
	for _, test := range []struct {
		name string
		// files are written to a directory, to which the variables refer as DIR.
		files, variables map[string]string
		ok               bool
	}{
		{"docker", map[string]string{"config.json": auths(secret)}, map[string]string{"DOCKER_CONFIG": "DIR"}, true},
		{"podman", map[string]string{"auth.json": auths(secret)}, map[string]string{"REGISTRY_AUTH_FILE": "DIR/auth.json"}, true},
		{"podman runtime directory", map[string]string{"containers/auth.json": auths(secret)}, map[string]string{"XDG_RUNTIME_DIR": "DIR"}, true},
		{"helper", map[string]string{"config.json": fmt.Sprintf(`{"credHelpers":{%q:"test"}}`, host), "docker-credential-test": helper},
			map[string]string{"DOCKER_CONFIG": "DIR", "PATH": "DIR:" + os.Getenv("PATH")}, true},
		{"none", nil, nil, false},
		{"wrong", map[string]string{"config.json": auths("wrong-" + secret)}, map[string]string{"DOCKER_CONFIG": "DIR"}, false},
		{"failing helper", map[string]string{"config.json": fmt.Sprintf(`{"credHelpers":{%q:"test"}}`, host), "docker-credential-test": "#!/bin/sh\necho " + secret + "\nexit 1\n"},
			map[string]string{"DOCKER_CONFIG": "DIR", "PATH": "DIR:" + os.Getenv("PATH")}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{"HOME", "DOCKER_CONFIG", "XDG_RUNTIME_DIR", "REGISTRY_AUTH_FILE"} {
				t.Setenv(name, filepath.Join(dir, "none"))
			}
			for name, value := range test.variables {
				t.Setenv(name, strings.ReplaceAll(value, "DIR", dir))
			}
			for name, text := range test.files {
				name = filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			c, err := oci.New(oci.Options{})
			if err != nil {
				t.Fatal(err)
			}
			switch err := pull(t.Context(), c, ref); {
			case test.ok && err != nil:
				t.Error(err)
			case !test.ok && err == nil:
				t.Error("no error")
			case err != nil && strings.Contains(fmt.Sprintf("%v %+v", err, err), secret):
				t.Errorf("the error has the secret: %v", err)
			}
		})
	}
}
