package source

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/modules/archive"
)

// The limits of an artifact of a source.
const (
	// maxDownload limits the archive, and maxUnpacked its content, in bytes. Neither is held in
	// memory.
	maxDownload = 256 << 20
	maxUnpacked = 2 << 30
	// maxBytes, in bytes, and maxFiles limit the files that are read into memory.
	maxBytes = 16 << 20
	maxFiles = 10_000
	// maxMarks limits the sum of [yamlfile.Marks] of these files, before one is parsed.
	maxMarks = 2_000_000
	// fetchTimeout limits the time of a download.
	fetchTimeout = 2 * time.Minute
)

// downloads is the client for artifacts. Addresses of artifacts have no credentials and lead to
// the archive itself, so it sends none and follows no redirect.
var downloads = &http.Client{
	Transport: func() http.RoundTripper {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DisableCompression = true // the digest is that of the compressed archive
		return t
	}(),
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// fetch downloads an artifact, verifies its digest, and returns the YAML and JSON files of a directory
// in it.
func fetch(ctx context.Context, a *meta.Artifact, dir string) ([]archive.File, *failure) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	because := func(reason string, err error) *failure {
		return &failure{reason: reason, message: source.OneLine("artifact "+a.Revision+": "+err.Error(), maxProblem)}
	}
	invalid := func(format string, args ...any) *failure {
		f := because(reasonArtifactInvalid, fmt.Errorf(format, args...))
		f.stalled = true
		return f
	}
	algorithm, want, _ := strings.Cut(a.Digest, ":")
	sum := hashOf(algorithm)
	if sum == nil {
		return nil, invalid("its digest %q is none of sha256, sha384 and sha512", a.Digest)
	}
	body, err := open(ctx, a.URL)
	if err != nil {
		return nil, because(reasonFetchFailed, err)
	}
	defer body.Close()
	limited := &io.LimitedReader{R: body, N: maxDownload + 1}
	stream := io.TeeReader(limited, sum)
	files, unpackErr := archive.Unpack(stream, archive.Options{
		Keep: within(dir), Bytes: maxBytes, Files: maxFiles, Read: maxUnpacked,
	})
	// The archive can end before the download does.
	if _, err := io.Copy(io.Discard, stream); err != nil {
		return nil, because(reasonFetchFailed, err)
	}
	var defect *archive.DefectError
	switch got := hex.EncodeToString(sum.Sum(nil)); {
	case limited.N == 0:
		return nil, invalid("the archive is larger than %d MiB", maxDownload>>20)
	case got != want:
		// The server may have had another archive at this address for a moment. The message doesn't
		// have its digest: whoever may write the status of a source chooses what is downloaded.
		return nil, because(reasonArtifactInvalid, fmt.Errorf("the archive doesn't have the digest %s", a.Digest))
	case errors.As(unpackErr, &defect):
		return nil, invalid("%v", defect)
	case unpackErr != nil:
		return nil, invalid("not a tar+gzip archive: %v", unpackErr)
	case len(files) == 0:
		return nil, &failure{reason: reasonNoInstances, message: fmt.Sprintf("artifact %s has no YAML or JSON files in %s", a.Revision, shown(dir)), stalled: true}
	}
	marks := 0
	for _, f := range files {
		if marks += yamlfile.Marks(f.Data); marks > maxMarks {
			return nil, invalid("the files up to %s have more than %d values and lines; divide the instances among several directories", f.Name, maxMarks)
		}
	}
	return files, nil
}

// hashOf returns the hash of an algorithm by its name in digests, or nil.
func hashOf(algorithm string) hash.Hash {
	switch algorithm {
	case "sha256":
		return sha256.New()
	case "sha384":
		return sha512.New384()
	case "sha512":
		return sha512.New()
	}
	return nil
}

// open requests an archive. The caller closes it. Errors name neither the user nor the query of the
// address, which can have credentials.
func open(ctx context.Context, address string) (io.ReadCloser, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("status.artifact.url: %w", withoutAddress(err))
	}
	shown := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s is not an address of HTTP", shown)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", v1alpha1.ManagerProgram)
	response, err := downloads.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, withoutAddress(err))
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		said := ""
		// Words about an address that may have credentials may repeat them, and pages aren't for
		// messages. What can't be read is missing there.
		if words, _ := io.ReadAll(io.LimitReader(response.Body, 300)); u.User == nil && u.RawQuery == "" && len(words) > 0 && words[0] != '<' {
			said = ": " + source.OneLine(strings.TrimSpace(string(words)), len(words))
		}
		return nil, fmt.Errorf("%s answered %s%s; check the source and its controller", shown, response.Status, said)
	}
	return response.Body, nil
}

// withoutAddress returns the cause of an error that names an address.
func withoutAddress(err error) error {
	var named *url.Error
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}

// within returns a filter that selects the files in a directory of an archive as pequod render does:
// YAML and JSON files, except for the configuration of kustomize. It also selects pequod.lock, which
// is refused.
func within(dir string) func(name string) bool {
	dir = strings.Trim(path.Clean("/"+dir), "/")
	return func(name string) bool {
		if dir != "" && !strings.HasPrefix(name, dir+"/") {
			return false
		}
		switch base := path.Base(name); {
		case base == "kustomization.yaml" || base == "kustomization.yml":
			return false
		case base == lockFile:
			return true
		}
		switch path.Ext(name) {
		case ".yaml", ".yml", ".json":
			return true
		}
		return false
	}
}

// shown returns a directory of an archive for messages.
func shown(dir string) string { return "./" + strings.Trim(path.Clean("/"+dir), "/") }
