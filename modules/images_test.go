package modules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/render"
)

// images are the images of samples and their users as docker inspect shows them. A kubelet
// refuses a Pod that must not run as root if its image has no user, or one with a name:
// "container has runAsNonRoot and image has non-numeric user (memcache), cannot verify user
// is non-root".
var images = map[string]string{
	"docker.io/library/busybox":    "",
	"docker.io/library/mysql":      "",
	"docker.io/library/nginx":      "",
	"docker.io/library/postgres":   "",
	"docker.io/rclone/rclone":      "",
	"nginx":                        "",
	"nginxinc/nginx-unprivileged":  "101",
	"registry.example.com":         "65532", // stands for images of the reader
	"ghcr.io/shop":                 "65532",
	"docker.io/library/memcached":  "memcache", // for TestUnstartable
	"ghcr.io/stefanprodan/podinfo": "app",
}

// userOf returns the user of an image, and whether it is known.
func userOf(image string) (user string, known bool) {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		image = image[:i]
	}
	for name, user := range images {
		if image == name || strings.HasPrefix(image, name+"/") {
			return user, true
		}
	}
	return "", false
}

// unstartable returns why the containers of a Pod can't be started by a kubelet, or can't
// listen on their ports, because of the users that they run as.
func unstartable(pod *corev1.PodSpec) []string {
	var found []string
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		nonRoot, id := false, (*int64)(nil)
		if s := pod.SecurityContext; s != nil {
			nonRoot, id = s.RunAsNonRoot != nil && *s.RunAsNonRoot, s.RunAsUser
		}
		if s := c.SecurityContext; s != nil {
			if s.RunAsNonRoot != nil {
				nonRoot = *s.RunAsNonRoot
			}
			if s.RunAsUser != nil {
				id = s.RunAsUser
			}
		}
		user, known := userOf(c.Image)
		switch {
		case !known:
			found = append(found, c.Image+" has an unknown user: add it to images")
		case !nonRoot:
			continue
		case id != nil && *id == 0, id == nil && user == "":
			found = append(found, c.Image+" runs as root")
		case id == nil && !regexp.MustCompile(`^[1-9][0-9]*(:|$)`).MatchString(user):
			found = append(found, fmt.Sprintf("%s has the user %s, which is no number", c.Image, user))
		}
		for _, port := range c.Ports {
			if port.ContainerPort < 1024 {
				found = append(found, fmt.Sprintf("%s can't listen on port %d without privileges", c.Image, port.ContainerPort))
			}
		}
	}
	return found
}

func TestUnstartable(t *testing.T) {
	yes := true
	for image, want := range map[string]string{
		"nginx:1.29":                            "nginx:1.29 runs as root",
		"docker.io/library/postgres@sha256:01":  "docker.io/library/postgres@sha256:01 runs as root",
		"docker.io/library/memcached":           "docker.io/library/memcached has the user memcache, which is no number",
		"ghcr.io/stefanprodan/podinfo:6":        "ghcr.io/stefanprodan/podinfo:6 has the user app, which is no number",
		"quay.io/some/thing":                    "quay.io/some/thing has an unknown user: add it to images",
		"nginxinc/nginx-unprivileged:1.29":      "",
		"registry.example.com/team/app:1":       "",
		"registry.example.com:5000/team/app:1":  "registry.example.com:5000/team/app:1 has an unknown user: add it to images",
		"nginxinc/nginx-unprivileged-more:1.29": "nginxinc/nginx-unprivileged-more:1.29 has an unknown user: add it to images",
	} {
		pod := &corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes}, Containers: []corev1.Container{{Image: image}}}
		if got := strings.Join(unstartable(pod), "; "); got != want {
			t.Errorf("%s: %q; want %q", image, got, want)
		}
	}
	pod := &corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: new(int64(999))}}
	pod.Containers = []corev1.Container{{Image: "docker.io/library/memcached", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}
	if got := unstartable(pod); !slices.Equal(got, []string{"docker.io/library/memcached can't listen on port 80 without privileges"}) {
		t.Errorf("with runAsUser: %v", got)
	}
}

// yamlBlock is a block of YAML in a document.
var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestDocumentedInstances renders the instances of embedded platforms in documents, samples
// and the demonstration, and checks that a real kubelet starts their Pods: the first
// instance of a reader must run.
func TestDocumentedInstances(t *testing.T) {
	platforms := map[string]*render.Platform{}
	for _, dir := range dirs(t) {
		p := moduleIn(t, dir)
		platforms[p.Group+"/"+p.Version+" "+p.Kind] = p
	}
	texts := map[string][]string{}
	for _, pattern := range []string{"../README.md", "../docs/*.md", "../examples/*/README.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			for _, block := range yamlBlock.FindAllStringSubmatch(read(t, file), -1) {
				// A document shows how this mistake is found and corrected.
				texts[file] = append(texts[file], strings.ReplaceAll(block[1], "  replica: ", "  replicas: "))
			}
		}
	}
	// The demonstration's instance is a constant of its program.
	_, app, _ := strings.Cut(read(t, "../test/demo/webservice.go"), "const instance = `")
	app, _, _ = strings.Cut(app, "`")
	texts["../test/demo/webservice.go"] = []string{app}
	texts["../testdata/demo/app.yaml"] = []string{strings.Replace(read(t, "../testdata/demo/app.yaml"), "apps.mycompany.com/", "pequod.io/", 1)}
	texts["../examples/irsa/instance.yaml"] = []string{read(t, "../examples/irsa/instance.yaml")}
	checked := map[string]int{}
	for file, all := range texts {
		for _, text := range all {
			var head struct{ APIVersion, Kind string }
			if err := yaml.Unmarshal([]byte(text), &head); err != nil {
				continue // part of an object
			}
			p := platforms[head.APIVersion+" "+head.Kind]
			if p == nil {
				continue
			}
			path := filepath.Join(t.TempDir(), "instance.yaml")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Run(filepath.Base(file), func(t *testing.T) {
				for _, res := range rendered(t, path, func(*render.Instance) *render.Platform { return p }) {
					checkObjects(t, res, false)
				}
			})
			checked[file]++
		}
	}
	for _, file := range []string{"../README.md", "../docs/applying.md", "../docs/gitops.md", "../docs/operations.md", "../test/demo/webservice.go", "../testdata/demo/app.yaml"} {
		if checked[file] == 0 {
			t.Errorf("%s: no instance was found", file)
		}
	}
	var sample v1alpha1.ResourceGraph
	if err := yaml.UnmarshalStrict([]byte(read(t, "../config/samples/resourcegraph.yaml")), &sample); err != nil {
		t.Fatal(err)
	}
	checkNodes(t, sample.Spec.Graph.Nodes, false)
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
