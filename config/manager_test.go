package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/config"
)

// TestManagerIsAsPromised checks the names, ports, probes and variables that handbooks, patches
// and alerts of users rely on: those that a Kubebuilder project has.
func TestManagerIsAsPromised(t *testing.T) {
	var d appsv1.Deployment
	convert(t, object(t, config.Operator, "Deployment", "pequod-controller-manager"), &d)
	pod := d.Spec.Template
	container := pod.Spec.Containers[0]
	if d.Namespace != "pequod-system" || pod.Labels["control-plane"] != "controller-manager" || len(pod.Spec.Containers) != 1 || container.Name != "manager" {
		t.Errorf("Deployment of %s: labels %v, container %s", d.Namespace, pod.Labels, container.Name)
	}
	if !slices.Contains(container.Args, "--leader-elect") {
		t.Errorf("arguments %v", container.Args)
	}
	ports := map[string]int32{}
	for _, p := range container.Ports {
		ports[p.Name] = p.ContainerPort
	}
	if diff := cmp.Diff(map[string]int32{"metrics": 8443, "probes": 8081, "artifacts": 9790}, ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	for _, p := range []struct {
		probe         *corev1.Probe
		path          string
		delay, period int32
	}{{container.LivenessProbe, "/healthz", 15, 20}, {container.ReadinessProbe, "/readyz", 5, 10}} {
		if p.probe.HTTPGet.Path != p.path || ports[p.probe.HTTPGet.Port.StrVal] != 8081 || p.probe.InitialDelaySeconds != p.delay || p.probe.PeriodSeconds != p.period {
			t.Errorf("probe %s: %+v", p.path, p.probe)
		}
	}
	env := map[string]string{}
	for _, v := range container.Env {
		env[v.Name] = v.Value
	}
	if env["PEQUOD_CACHE_SIZE_MB"] != "100" || env["PEQUOD_CACHE_TTL_HOURS"] != "24" {
		t.Errorf("variables %v", env)
	}
	checkConfined(t, pod.Spec, container, env["PEQUOD_CACHE_DIR"])
	var service corev1.Service
	convert(t, object(t, config.Operator, "Service", "pequod-controller-manager"), &service)
	if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) || service.Spec.Ports[0].Port != 8443 {
		t.Errorf("Service: %+v", service.Spec)
	}
}

// checkConfined checks that a container writes to volumes only, with the cache on one, and has no
// privileges.
func checkConfined(t *testing.T, pod corev1.PodSpec, container corev1.Container, cache string) {
	t.Helper()
	s := container.SecurityContext
	if s == nil || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || !slices.Contains(s.Capabilities.Drop, "ALL") ||
		!*pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("security: %+v, %+v", pod.SecurityContext, s)
	}
	i := slices.IndexFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == cache })
	if i < 0 {
		t.Fatalf("no volume at %q: %+v", cache, container.VolumeMounts)
	}
	j := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == container.VolumeMounts[i].Name })
	if j < 0 || pod.Volumes[j].EmptyDir == nil || pod.Volumes[j].EmptyDir.SizeLimit.Value() < 200<<20 {
		t.Errorf("volumes: %+v", pod.Volumes)
	}
}

// koBuild is how ko builds an image.
type koBuild struct {
	ID, Main   string
	Env, Flags []string
}

// TestImages checks that ko builds an image of each program that is installed, as releases do, and with
// the tags of the Makefile: without them a program has other bytes and is larger.
func TestImages(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", ".ko.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var ko struct{ Builds []koBuild }
	if err := yaml.Unmarshal(text, &ko); err != nil {
		t.Fatal(err)
	}
	for name, installed := range map[string][]byte{"pequod-applier": config.Applier, "pequod-manager": config.Operator, "pequod-actions": config.Actions} {
		want := koBuild{ID: name, Main: "./cmd/" + name, Env: []string{"CGO_ENABLED=0"}, Flags: []string{"-trimpath", "-tags=" + tags(t)}}
		if !slices.ContainsFunc(ko.Builds, func(b koBuild) bool { return cmp.Equal(want, b) }) {
			t.Errorf("ko doesn't build %+v", want)
		}
		if image := "image: ghcr.io/pequod-io/" + name + ":"; !strings.Contains(string(installed), image) {
			t.Errorf("no %s is installed", image)
		}
	}
}

// tags returns the build tags of the Makefile.
func tags(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^TAGS := (\S+)$`).FindStringSubmatch(read(t, "Makefile"))
	if found == nil {
		t.Fatal("the Makefile has no TAGS")
	}
	return found[1]
}

// TestArchives checks that goreleaser builds the program with the flags of make build, so that everyone
// can make the bytes of a release.
func TestArchives(t *testing.T) {
	var goreleaser struct{ Builds []koBuild }
	if err := yaml.Unmarshal([]byte(read(t, ".goreleaser.yaml")), &goreleaser); err != nil {
		t.Fatal(err)
	}
	want := []koBuild{{ID: "pequod", Main: "./cmd/pequod", Env: []string{"CGO_ENABLED=0"}, Flags: []string{"-trimpath", "-tags=" + tags(t)}}}
	if diff := cmp.Diff(want, goreleaser.Builds); diff != "" {
		t.Errorf("builds (-want +got):\n%s", diff)
	}
}
