// Package pullsecret makes credentials of Secrets of Kubernetes.
//
// [Keychain] returns those for registries, of the types kubernetes.io/dockerconfigjson and
// kubernetes.io/dockercfg, as pods have them in imagePullSecrets. [Git] returns those for git
// servers, and [Transport] trusts the authorities that Secrets name. The package reads
// nothing: callers have the Secrets. It doesn't know the credential services of clouds.
package pullsecret

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	corev1 "k8s.io/api/core/v1"

	"github.com/pequod-io/pequod/internal/jsonlimit"
)

// Keychain returns a keychain of the registries in Secrets. Earlier Secrets win for the
// same place. No error has a value of a Secret.
func Keychain(secrets ...*corev1.Secret) (authn.Keychain, error) {
	var all keychain
	for _, s := range secrets {
		auths, err := read(s)
		if err != nil {
			return nil, fmt.Errorf("secret %s/%s: %w", s.Namespace, s.Name, err)
		}
		var places []place
		for server, auth := range auths {
			places = append(places, place{normalize(server), auth})
		}
		slices.SortFunc(places, func(a, b place) int { return strings.Compare(a.prefix, b.prefix) })
		all = append(all, places...)
	}
	// The longest prefix wins, as for the images of pods.
	slices.SortStableFunc(all, func(a, b place) int { return len(b.prefix) - len(a.prefix) })
	return all, nil
}

// The keys of Secrets with credentials.
var keys = map[corev1.SecretType]string{
	corev1.SecretTypeDockerConfigJson: corev1.DockerConfigJsonKey,
	corev1.SecretTypeDockercfg:        corev1.DockerConfigKey,
}

// read returns the credentials in a Secret by registry.
func read(s *corev1.Secret) (map[string]authn.AuthConfig, error) {
	key, ok := keys[s.Type]
	if !ok {
		return nil, fmt.Errorf("has the type %q; want %s", s.Type, corev1.SecretTypeDockerConfigJson)
	}
	data, ok := s.Data[key]
	if !ok {
		return nil, fmt.Errorf("has no key %s", key)
	}
	config := struct {
		Auths map[string]authn.AuthConfig `json:"auths"`
	}{}
	err := jsonlimit.Check(data, jsonlimit.Message)
	switch {
	case err != nil:
	case s.Type == corev1.SecretTypeDockercfg:
		err = json.Unmarshal(data, &config.Auths)
	default:
		err = json.Unmarshal(data, &config)
	}
	if err != nil {
		// The error of the library can repeat a part of the value.
		return nil, fmt.Errorf("%s is not a configuration of Docker", key)
	}
	return config.Auths, nil
}

// place is a registry, or a part of its repositories, and its credentials.
type place struct {
	prefix string
	auth   authn.AuthConfig
}

// keychain implements [authn.Keychain]. Its places are sorted, the longest first.
type keychain []place

// Resolve implements [authn.Keychain]. Without credentials it is anonymous.
func (k keychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	at := normalize(target.String())
	for _, p := range k {
		if at == p.prefix || strings.HasPrefix(at, p.prefix+"/") {
			return authn.FromConfig(p.auth), nil
		}
	}
	return authn.Anonymous, nil
}

// normalize returns the name of a registry, or of a part of one, in the form of
// references. Configurations also have URLs, such as https://index.docker.io/v1/.
func normalize(server string) string {
	server = strings.TrimPrefix(strings.TrimPrefix(server, "https://"), "http://")
	server = strings.TrimSuffix(server, "/")
	for _, version := range []string{"/v1", "/v2"} {
		server = strings.TrimSuffix(server, version)
	}
	host, path, _ := strings.Cut(server, "/")
	if host == "docker.io" || host == "registry-1.docker.io" {
		host = "index.docker.io"
	}
	if path == "" {
		return host
	}
	return host + "/" + path
}
