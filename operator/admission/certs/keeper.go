package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/applier/cluster"
)

const (
	// lifetime is that of a certificate. It is replaced after two thirds of it.
	lifetime = 90 * 24 * time.Hour
	// settle is how long API servers may take to see a changed configuration. They watch it.
	settle = 10 * time.Minute
	// longest bounds the time without a look at the certificate, in case that the clock of
	// the machine jumps.
	longest = time.Hour
	// retryAfter is the pause after a failed request.
	retryAfter = 5 * time.Second
)

// fieldManager owns the caBundle of the configuration.
const fieldManager = "pequod-webhook"

// Options configure a [Keeper].
type Options struct {
	// Secret is the Secret with the certificate. It is created if it doesn't exist. Without
	// a name, another program keeps certificate and authorities, and the keeper only adds the
	// conditions.
	Secret types.NamespacedName
	// Configuration is the name of the ValidatingWebhookConfiguration. Its webhooks get the
	// caBundle, and the names by which they are called are those of the certificate. It may
	// appear later.
	Configuration string
	// Service is the Service by which the API server calls the webhook, in the namespace of
	// the Secret, as long as there is no configuration.
	Service string
	// Conditions are added to the matchConditions of all webhooks in the configuration.
	Conditions []admissionregistrationv1.MatchCondition
	Log        logr.Logger

	schedule schedule // set by tests
}

// Keeper keeps the certificate of a webhook in a Secret, and its authorities in the
// webhook's configuration. It needs the rights to create, get, list, watch and update the
// Secret, and to get, list, watch and patch the configuration.
type Keeper struct {
	Options
	watches *cluster.Client
	objects dynamic.Interface
	current atomic.Pointer[tls.Certificate]
}

var (
	secrets        = corev1.SchemeGroupVersion.WithResource("secrets")
	configurations = admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations")
)

// NewKeeper returns a keeper, which has no certificate until Start runs.
func NewKeeper(config *rest.Config, client *http.Client, o Options) (*Keeper, error) {
	if o.schedule == (schedule{}) {
		o.schedule = schedule{lifetime, settle}
	}
	watches, err := cluster.New(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfigAndClient(config, client)
	return &Keeper{Options: o, watches: watches, objects: objects}, err
}

// errNoCertificate is the error of connections and of the probe at the very beginning.
var errNoCertificate = errors.New("there is no certificate yet")

// Certificate returns the certificate to serve, as [tls.Config] asks for it.
func (k *Keeper) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c := k.current.Load(); c != nil {
		return c, nil
	}
	return nil, errNoCertificate
}

// Ready returns an error as long as there is no certificate of this keeper.
func (k *Keeper) Ready(*http.Request) error {
	if k.Secret.Name == "" {
		return nil
	}
	_, err := k.Certificate(nil)
	return err
}

// NeedLeaderElection makes the keeper run in every replica.
func (k *Keeper) NeedLeaderElection() bool { return false }

// Start keeps the certificate until ctx is done. Failed requests are logged and repeated.
func (k *Keeper) Start(ctx context.Context) error {
	events := make(chan cluster.Event)
	if k.Secret.Name != "" {
		go k.watches.Watch(ctx, cluster.Selection{
			GVK: corev1.SchemeGroupVersion.WithKind("Secret"), Namespace: k.Secret.Namespace, Name: k.Secret.Name,
		}, events)
	}
	go k.watches.Watch(ctx, cluster.Selection{
		GVK: admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"), Name: k.Configuration,
	}, events)
	for ctx.Err() == nil {
		wait, err := k.step(ctx)
		if err != nil && ctx.Err() == nil {
			k.Log.Error(err, "the certificate of the webhook can't be kept", "secret", k.Secret.String())
			wait = retryAfter
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-events:
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

// step reads the Secret and the configuration, serves the certificate and writes what is
// due. It returns how long nothing is to be done unless one of the two changes.
func (k *Keeper) step(ctx context.Context) (time.Duration, error) {
	configuration, err := k.readConfiguration(ctx)
	if err != nil {
		return 0, err
	}
	if k.Secret.Name == "" {
		return longest, k.writeConfiguration(ctx, configuration, nil)
	}
	secret, err := k.readSecret(ctx)
	if err != nil {
		return 0, err
	}
	now := time.Now()
	configured := caBundle(configuration)
	if len(configuration.Webhooks) == 0 {
		configured = secret.Data[keyBundle] // no API server calls the webhook
	}
	data, due, err := k.schedule.next(secret.Data, k.hosts(configuration), configured, now)
	if err != nil {
		return 0, err
	}
	if data != nil {
		// Another replica may have been first. Its Secret is then read in the next step,
		// which follows at once.
		if err := k.writeSecret(ctx, secret, data); apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			return 0, nil
		} else if err != nil {
			return 0, err
		}
		return 0, k.writeConfiguration(ctx, configuration, data[keyBundle])
	}
	// The API server must trust the certificate before it is served.
	if err := k.writeConfiguration(ctx, configuration, secret.Data[keyBundle]); err != nil {
		return 0, err
	}
	if err := k.serve(secret.Data); err != nil {
		return 0, err
	}
	return min(max(due.Sub(now), time.Second), longest), nil
}

// serve makes the certificate of a Secret the one that is served.
func (k *Keeper) serve(data map[string][]byte) error {
	c, err := served(data).certificate()
	if err != nil {
		return err
	}
	if before := k.current.Swap(c); before == nil || !bytes.Equal(before.Certificate[0], c.Certificate[0]) {
		k.Log.Info("serving a certificate", "hosts", append(slices.Clone(c.Leaf.DNSNames), ips(c)...), "expires", c.Leaf.NotAfter)
	}
	return nil
}

// ips returns the addresses for which a certificate is valid.
func ips(c *tls.Certificate) (all []string) {
	for _, ip := range c.Leaf.IPAddresses {
		all = append(all, ip.String())
	}
	return all
}

// hosts returns the names by which API servers call the webhooks of a configuration.
func (k *Keeper) hosts(configuration *admissionregistrationv1.ValidatingWebhookConfiguration) []string {
	names := map[string]bool{k.Service + "." + k.Secret.Namespace + ".svc": true}
	for _, w := range configuration.Webhooks {
		switch c := w.ClientConfig; {
		case c.Service != nil:
			names[c.Service.Name+"."+c.Service.Namespace+".svc"] = true
		case c.URL != nil:
			if u, err := url.Parse(*c.URL); err == nil && u.Hostname() != "" {
				names[u.Hostname()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// caBundle returns the authorities that all webhooks of a configuration trust, nil if they
// differ.
func caBundle(configuration *admissionregistrationv1.ValidatingWebhookConfiguration) []byte {
	var all []byte
	for i, w := range configuration.Webhooks {
		if i > 0 && !bytes.Equal(w.ClientConfig.CABundle, all) {
			return nil
		}
		all = w.ClientConfig.CABundle
	}
	return all
}

// readConfiguration returns the configuration, an empty one if it doesn't exist.
func (k *Keeper) readConfiguration(ctx context.Context) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	return c, k.read(ctx, k.objects.Resource(configurations), k.Configuration, c)
}

// readSecret returns the Secret, an empty one if it doesn't exist.
func (k *Keeper) readSecret(ctx context.Context) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	return s, k.read(ctx, k.objects.Resource(secrets).Namespace(k.Secret.Namespace), k.Secret.Name, s)
}

// read reads an object. It leaves into as it is if the object doesn't exist.
func (k *Keeper) read(ctx context.Context, from dynamic.ResourceInterface, name string, into any) error {
	object, err := from.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into)
}

// writeSecret writes data to a Secret as it was read: it fails if the Secret was changed or
// created since.
func (k *Keeper) writeSecret(ctx context.Context, secret *corev1.Secret, data map[string][]byte) error {
	secret = secret.DeepCopy()
	secret.APIVersion, secret.Kind = "v1", "Secret"
	secret.Namespace, secret.Name = k.Secret.Namespace, k.Secret.Name
	secret.Data = data
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(secret)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: content}
	client := k.objects.Resource(secrets).Namespace(k.Secret.Namespace)
	if secret.ResourceVersion == "" {
		_, err = client.Create(ctx, object, metav1.CreateOptions{FieldManager: fieldManager})
	} else {
		_, err = client.Update(ctx, object, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	if err != nil {
		return fmt.Errorf("writing Secret %s: %w", k.Secret, err)
	}
	return nil
}

// writeConfiguration gives all webhooks of the configuration the authorities, unless they
// are nil, and the conditions. It uses server-side apply, so that other tools keep the rest.
// Nothing is written if there is no change.
func (k *Keeper) writeConfiguration(ctx context.Context, configuration *admissionregistrationv1.ValidatingWebhookConfiguration, authorities []byte) error {
	var webhooks []map[string]any
	changed := false
	for _, w := range configuration.Webhooks {
		applied := map[string]any{"name": w.Name, "matchConditions": k.Conditions}
		if authorities != nil {
			changed = changed || !bytes.Equal(w.ClientConfig.CABundle, authorities)
			applied["clientConfig"] = map[string]any{"caBundle": authorities}
		}
		for _, condition := range k.Conditions {
			changed = changed || !slices.Contains(w.MatchConditions, condition)
		}
		webhooks = append(webhooks, applied)
	}
	if !changed {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"apiVersion": admissionregistrationv1.SchemeGroupVersion.String(), "kind": "ValidatingWebhookConfiguration",
		// The UID prevents that a configuration is created that was deleted since.
		"metadata": map[string]any{"name": configuration.Name, "uid": configuration.UID}, "webhooks": webhooks,
	})
	if err != nil {
		return err
	}
	force := true
	_, err = k.objects.Resource(configurations).Patch(ctx, configuration.Name, types.ApplyPatchType, patch,
		metav1.PatchOptions{FieldManager: fieldManager, Force: &force})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // it was deleted
		return fmt.Errorf("writing ValidatingWebhookConfiguration %s: %w", configuration.Name, err)
	}
	return nil
}
