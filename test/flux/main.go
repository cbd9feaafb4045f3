// Command pequod installs a plugin with the code of flux plugin install, and prints what Flux
// completes for the plugin. The requests for the catalog and the archives go to a file server,
// which has the files of a host in a directory with its name.
//
//	FLUXCD_PLUGIN_CATALOG=URL pequod SERVER PLUGINS OS/ARCH [ARG ...]
package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/fluxcd/flux2/v2/internal/plugin"
)

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// files is a transport that asks a file server for HOST/PATH instead of https://HOST/PATH.
type files string

func (f files) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" {
		return nil, fmt.Errorf("%s: the scheme is not https", r.URL)
	}
	to, err := url.Parse(string(f) + "/" + r.URL.Host + r.URL.Path)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL, r.Host = to, ""
	return http.DefaultTransport.RoundTrip(r)
}

func run(server, dir, platform string, complete []string) error {
	client := &http.Client{Transport: files(server)}
	catalog := plugin.NewCatalogClient()
	catalog.HTTPClient, catalog.GetEnv = client, os.Getenv
	manifest, err := catalog.FetchManifest("pequod")
	if err != nil {
		return err
	}
	version, err := plugin.ResolveVersion(manifest, "")
	if err != nil {
		return err
	}
	goos, goarch, _ := strings.Cut(platform, "/")
	archive, err := plugin.ResolvePlatform(version, goos, goarch)
	if err != nil {
		return err
	}
	if err := (&plugin.Installer{HTTPClient: client}).Install(dir, manifest, version, archive); err != nil {
		return err
	}
	handler := plugin.NewHandler()
	handler.GetEnv = func(string) string { return dir }
	for _, p := range handler.Discover(nil) {
		fmt.Printf("flux %s: %s %s\n", p.Name, version.Version, archive.URL)
		if len(complete) > 0 {
			last := len(complete) - 1
			words, _ := plugin.CompleteFunc(p.Path)(nil, complete[:last], complete[last])
			fmt.Println(strings.Join(words, "\n"))
		}
	}
	return nil
}
