package config_test

import (
	"bytes"
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/pequod-io/pequod/operator/admission/serve"
)

// TestWebhook checks what the component adds, also with cert-manager, and that a namespace
// reaches all of it.
func TestWebhook(t *testing.T) {
	const certManager = "components: [../webhook, ../certmanager]\n"
	base := buildIn(t, "applier", "")
	own := buildIn(t, "applier", "components: [../webhook]\nnamespace: elsewhere\n")
	var deployment appsv1.Deployment
	convert(t, object(t, own, "Deployment", "pequod-applier"), &deployment)
	container := deployment.Spec.Template.Spec.Containers[0]
	if !slices.Contains(container.Args, "--webhooks") || !slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == "webhook" && p.ContainerPort == 9443 }) {
		t.Errorf("container: %v, %v", container.Args, container.Ports)
	}
	var service corev1.Service
	convert(t, object(t, own, "Service", "pequod-webhook"), &service)
	if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(deployment.Spec.Template.Labels)) {
		t.Errorf("the Service selects %v", service.Spec.Selector)
	}
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	convert(t, object(t, own, "ValidatingWebhookConfiguration", "pequod-webhook"), &configuration)
	w := configuration.Webhooks[0]
	if s := w.ClientConfig.Service; s.Namespace != "elsewhere" || s.Name != serve.Applier || *s.Path != serve.GraphsPath || configuration.Name != serve.Applier {
		t.Errorf("client: %+v", s)
	}
	if bytes.Contains(own, []byte("pequod-system")) {
		t.Errorf("something is left in pequod-system:\n%s", own)
	}
	count := func(text []byte) int { return bytes.Count(text, []byte("\nkind: ")) }
	if got := count(own) - count(base); got != 6 {
		t.Errorf("webhook adds %d objects, want 6", got)
	}

	managed := buildIn(t, "applier", certManager)
	convert(t, object(t, managed, "Deployment", "pequod-applier"), &deployment)
	container = deployment.Spec.Template.Spec.Containers[0]
	if !slices.Contains(container.Args, "--webhook-cert-path="+container.VolumeMounts[0].MountPath) {
		t.Errorf("cert-manager: %v, %v", container.Args, container.VolumeMounts)
	}
	certificate := object(t, managed, "Certificate", "pequod-webhook")
	secret, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
	names, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	if secret != deployment.Spec.Template.Spec.Volumes[0].Secret.SecretName || !slices.Contains(names, "pequod-webhook.pequod-system.svc") {
		t.Errorf("cert-manager: Secret %s for %v", secret, names)
	}
	if got := count(managed) - count(base); got != 6 { // a Certificate and an Issuer, no Role and RoleBinding
		t.Errorf("cert-manager: %d more objects, want 6", got)
	}
}

// TestManagerWebhook checks what the component for the manager adds, also with cert-manager, and
// that a namespace reaches all of it.
func TestManagerWebhook(t *testing.T) {
	base := buildIn(t, "default", "")
	own := buildIn(t, "default", "components: [../webhook/manager]\nnamespace: elsewhere\n")
	var deployment appsv1.Deployment
	convert(t, object(t, own, "Deployment", "pequod-controller-manager"), &deployment)
	container := deployment.Spec.Template.Spec.Containers[0]
	if !slices.Contains(container.Args, "--webhooks") || !slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == "webhook" && p.ContainerPort == 9443 }) {
		t.Errorf("container: %v, %v", container.Args, container.Ports)
	}
	var service corev1.Service
	convert(t, object(t, own, "Service", serve.Manager), &service)
	if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(deployment.Spec.Template.Labels)) {
		t.Errorf("the Service selects %v", service.Spec.Selector)
	}
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	convert(t, object(t, own, "ValidatingWebhookConfiguration", serve.Manager), &configuration)
	w := configuration.Webhooks[0]
	if s := w.ClientConfig.Service; s.Namespace != "elsewhere" || s.Name != serve.Manager || *s.Path != serve.TransformsPath || *w.FailurePolicy != admissionregistrationv1.Ignore {
		t.Errorf("client: %+v", s)
	}
	if bytes.Contains(own, []byte("pequod-system")) {
		t.Errorf("something is left in pequod-system:\n%s", own)
	}
	count := func(text []byte) int { return bytes.Count(text, []byte("\nkind: ")) }
	if got := count(own) - count(base); got != 6 {
		t.Errorf("webhook adds %d objects, want 6", got)
	}

	managed := buildIn(t, "default", "components: [../webhook/manager, ../certmanager/manager]\n")
	convert(t, object(t, managed, "Deployment", "pequod-controller-manager"), &deployment)
	container = deployment.Spec.Template.Spec.Containers[0]
	mount := container.VolumeMounts[len(container.VolumeMounts)-1]
	volumes := deployment.Spec.Template.Spec.Volumes
	if !slices.Contains(container.Args, "--webhook-cert-path="+mount.MountPath) || len(container.VolumeMounts) != 2 || len(volumes) != 2 || volumes[1].Name != mount.Name {
		t.Errorf("cert-manager: %v, %v, %v", container.Args, container.VolumeMounts, volumes)
	}
	certificate := object(t, managed, "Certificate", serve.Manager)
	secret, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
	names, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	if secret != volumes[1].Secret.SecretName || !slices.Contains(names, serve.Manager+".pequod-system.svc") {
		t.Errorf("cert-manager: Secret %s for %v", secret, names)
	}
	if got := count(managed) - count(base); got != 6 { // a Certificate and an Issuer, no Role and RoleBinding
		t.Errorf("cert-manager: %d more objects, want 6", got)
	}
}
