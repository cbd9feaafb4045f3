package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/modules/sign"
	"github.com/pequod-io/pequod/test/sigstore"
)

// issuer and subject are the identity in the certificate of a release, as in SECURITY.md.
const issuer = "https://token.actions.githubusercontent.com"

func subject() string {
	return "https://github.com/pequod-io/pequod/.github/workflows/release.yaml@refs/tags/" + tag
}

// signerVariable has the address of the signer for the program cosign.
const signerVariable = "PEQUOD_TEST_SIGNER"

// TestMain makes the test binary the program cosign, which goreleaser starts.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "cosign" {
		if err := cosign(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "cosign:", err)
			os.Exit(1)
		}
		return
	}
	var err error
	if tag, err = imageTag(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// cosign is the command cosign sign-blob with the arguments of .goreleaser.yaml. The signer signs the
// digest of the file.
func cosign(args []string) error {
	bundle, found := "", false
	if len(args) == 4 && args[0] == "sign-blob" && args[3] == "--yes" {
		bundle, found = strings.CutPrefix(args[1], "--bundle=")
	}
	if !found {
		return fmt.Errorf("arguments %q; want sign-blob --bundle=FILE FILE --yes", args)
	}
	data, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	response, err := http.Post(os.Getenv(signerVariable), "application/json", bytes.NewReader(statement(sign.SignatureType, nil, sum(data))))
	if err != nil {
		return err
	}
	signed, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %v", response.Status, signed, err)
	}
	return os.WriteFile(bundle, signed, 0o600)
}

// signer serves Sigstore instances that sign statements as the release workflow. It returns the
// address. Certificates are valid for minutes, so each request adds an instance to used.
func signer(t *testing.T, used *[]*sigstore.Instance) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		instance, failed := sigstore.New()
		if err = errors.Join(err, failed); err == nil {
			*used = append(*used, instance) // releases are made one after the other
			text, err = instance.Sign(subject(), issuer, text, instance.Valid())
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// trust returns the trust in the release workflow, and in another workflow of the same repository.
func trust(t *testing.T, instance *sigstore.Instance) (release, other *sign.Trust) {
	t.Helper()
	root, err := instance.TrustedRoot()
	if err != nil {
		t.Fatal(err)
	}
	of := func(subject string) *sign.Trust {
		trust, err := sign.Identities(root, []sign.Identity{{Issuer: "^" + issuer + "$", Subject: "^" + subject + "$"}})
		if err != nil {
			t.Fatal(err)
		}
		return trust
	}
	return of(subject()), of(strings.Replace(subject(), "release.yaml", "other.yaml", 1))
}

// statement returns an in-toto statement about digests in hexadecimal.
func statement(predicateType string, predicate map[string]any, digests ...string) []byte {
	var subjects []any
	for _, digest := range digests {
		subjects = append(subjects, map[string]any{"digest": map[string]string{"sha256": digest}})
	}
	if predicate == nil {
		predicate = map[string]any{}
	}
	text, err := json.Marshal(map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": predicateType, "predicate": predicate,
	})
	if err != nil {
		panic(err) // can't happen: maps of strings
	}
	return text
}

// sum returns the SHA-256 of data in hexadecimal.
func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
