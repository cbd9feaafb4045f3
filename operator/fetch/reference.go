package fetch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/cache"
	"github.com/pequod-io/pequod/modules/git"
	"github.com/pequod-io/pequod/modules/inline"
	"github.com/pequod-io/pequod/modules/modpath"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/operator/credentials"
)

// session is one fetch.
type session struct {
	*Fetcher
	// namespace is that of the Transform, or of the policies of the organization, and cache has
	// its scope.
	namespace string
	// directories is set if references to directories are allowed.
	directories bool
	cache       *cache.Cache
}

// options returns how to open the module that a reference names. They have the credentials
// and the signers of this reference, so no other reference may use them.
func (s *session) options(ctx context.Context, ref v1alpha1.CueRef) (modules.Options, error) {
	begin := time.Now()
	options, err := s.optionsOf(ctx, ref)
	if err != nil && s.Fetched != nil {
		s.Fetched(ref.Type, time.Since(begin), err)
	}
	return options, err
}

func (s *session) optionsOf(ctx context.Context, ref v1alpha1.CueRef) (modules.Options, error) {
	if err := Check(ref); err != nil && !(s.directories && ref.Type == v1alpha1.CueRefPath) {
		return modules.Options{}, err
	}
	access, err := credentials.Read(ctx, s.Client, s.namespace, ref, "")
	if err != nil {
		return modules.Options{}, secretError(err)
	}
	signers, err := s.signers(ctx, ref)
	if err != nil {
		return modules.Options{}, err
	}
	connect := func(plain bool) (*oci.Client, error) {
		return oci.New(oci.Options{
			Keychain: access.Keychain, Transport: access.Transport, PlainHTTP: plain, UserAgent: s.UserAgent, Blobs: s.cache, Hint: hint,
		})
	}
	return modules.Options{
		Artifacts: func() (oci.Artifacts, error) {
			client, err := connect(false)
			if err != nil || signers == nil {
				return client, err
			}
			return s.guard(signers).Artifacts(client, client), nil
		},
		Git: func() (git.Options, error) {
			return git.Options{Cache: s.cache, Transport: access.Transport, Auth: access.Git}, nil
		},
		ConfigMaps: s.configMap,
		Published: modpath.New(modpath.Options{
			Registry: s.Registry, Records: s.cache,
			Artifacts: func(plain bool) (oci.Artifacts, error) { return connect(plain) },
		}),
		Fetched: s.Fetched,
	}, nil
}

// hint returns what the author of a Transform can do about an error of a registry.
func hint(cause oci.Cause) string {
	switch cause {
	case oci.Unauthorized:
		return "name a Secret with credentials for it in pullSecretRef"
	case oci.TLS:
		return "if it has an authority of its own, name that in ca.crt of the Secret in pullSecretRef"
	}
	return ""
}

// Check returns an error if a reference is not one for clusters. The API server refuses
// most of them, unless the Transform is older than its rule.
func Check(ref v1alpha1.CueRef) error {
	switch ref.Type {
	case v1alpha1.CueRefPath:
		return &Error{NotAllowed, "cueRef of type path: a cluster has no directories"}
	case v1alpha1.CueRefOCI:
		r, err := oci.ParseRef(ref.Ref)
		if err != nil {
			return &Error{InvalidReference, err.Error()}
		}
		if r.Kind != oci.Registry {
			return &Error{NotAllowed, ref.Ref + ": a cluster has no directories; want oci://HOST/REPOSITORY:TAG"}
		}
	case v1alpha1.CueRefGit:
		r, err := git.ParseRef(ref.Ref)
		if err != nil {
			return &Error{InvalidReference, err.Error()}
		}
		if r.URL.Scheme != "https" && r.URL.Scheme != "ssh" {
			return &Error{NotAllowed, fmt.Sprintf("%s: scheme %s is not for clusters; want https or ssh", r, r.URL.Scheme)}
		}
	case v1alpha1.CueRefConfigMap:
		if _, _, err := inline.ParseConfigMap(ref.Ref); err != nil {
			return &Error{InvalidReference, err.Error()}
		}
	case v1alpha1.CueRefEmbedded:
		if names := modules.Embedded(); !slices.Contains(names, ref.Ref) {
			return &Error{InvalidReference, fmt.Sprintf("no embedded module %q; there are: %s", ref.Ref, strings.Join(names, ", "))}
		}
	}
	return nil
}

// configMap returns the module of a ConfigMap of the Transform's namespace. Those of other
// namespaces are refused: the manager can read them, and the author of the Transform perhaps
// not.
func (s *session) configMap(ctx context.Context, namespace, name string) (*inline.Module, error) {
	shown := fmt.Sprintf("ConfigMap %s/%s", namespace, name)
	if namespace != s.namespace {
		return nil, &Error{NotAllowed, shown + ": a Transform can only use ConfigMaps of its own namespace, " + s.namespace}
	}
	cm, err := s.Client.ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, &Error{NotFound, shown + ": not found"}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	m, err := inline.FromConfigMap(cm, inline.Origin{Name: shown})
	if err != nil {
		return nil, &Error{ModuleInvalid, err.Error()}
	}
	return m, nil
}
