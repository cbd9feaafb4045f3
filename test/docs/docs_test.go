package docs

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/test/docsession"
	"github.com/pequod-io/pequod/test/harness"
)

// The documents that show commands are run, each in an empty directory of its
// own, with pequod on the path: see package docsession. Those of documents that
// lie beside what they show are run in the checkout.

// session is a document that is run.
type session struct {
	doc string
	// inCheckout says that commands are run in the checkout, which they don't
	// write to.
	inCheckout bool
	// notRun are commands that the test doesn't run, and why.
	notRun map[string]string
	// cluster says that there are kubectl and a cluster, which is the session's
	// own.
	cluster bool
	// namespace is one that is there, empty.
	namespace string
	// clusterFrom is the command from which on the cluster can be reached: what
	// stands before it needs none. Empty, it always can.
	clusterFrom string
	// applierFrom is the command from which on the applier runs: no container
	// does in the cluster, so it runs beside it.
	applierFrom string
}

var sessions = []session{
	{doc: "README.md", notRun: map[string]string{
		"make test":                    "it runs this test",
		"make build":                   "the session is run with what it builds, made under another name",
		`export PATH="$PWD/bin:$PATH"`: "the session has a path of its own",
	}},
	{doc: "docs/tutorial.md", cluster: true, clusterFrom: "pequod install", applierFrom: "kubectl create serviceaccount pequod"},
	{doc: "docs/platform-engineer-guide.md"},
	{doc: "docs/cue-modules.md"},
	{doc: "docs/policy.md"},
	{doc: "docs/gitops.md"},
	{doc: "docs/applying.md", cluster: true, namespace: "shop"},
	{doc: "docs/operations.md", cluster: true, applierFrom: "kubectl create namespace shop"},
	{doc: "examples/irsa/README.md", inCheckout: true},
}

// noSession are the documents that aren't run, and why.
var noSession = map[string]string{
	"docs/design.md": "it follows the code, and has a picture but no commands",
}

const testVersion = "v0.0.0-docs"

func TestDocs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the documentation is written for a shell")
	}
	bin := t.TempDir()
	buildAsMakeDoes(t, bin)
	t.Run("version", func(t *testing.T) { checkVersion(t, bin) })
	for _, s := range sessions {
		t.Run(s.doc, func(t *testing.T) {
			t.Parallel()
			s.runIn(t, bin)
		})
	}
}

// TestDocsAreRun holds that every document is run, or says why not.
func TestDocsAreRun(t *testing.T) {
	want := slices.Sorted(maps.Keys(noSession))
	for _, s := range sessions {
		want = append(want, s.doc)
	}
	var got []string
	for _, doc := range documents(t) {
		if !strings.HasPrefix(filepath.ToSlash(doc), "docs/cmd/") { // written from the commands' own help
			got = append(got, filepath.ToSlash(doc))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("documents (-in a session or excused, +in the checkout):\n%s", diff)
	}
}

var ldflags = regexp.MustCompile(`-ldflags '([^']*)'`)

// buildAsMakeDoes builds pequod with the linker flags of `make build`. It leaves
// -trimpath and CGO_ENABLED to the caller, whose packages are compiled already.
func buildAsMakeDoes(t *testing.T, dir string) {
	t.Helper()
	dry := exec.Command("make", "-n", "build", "VERSION="+testVersion)
	dry.Env = environment()
	out, err := dry.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", dry, err, out)
	}
	m := ldflags.FindSubmatch(out)
	if m == nil {
		t.Fatalf("no -ldflags in what make build runs:\n%s", out)
	}
	build := exec.Command("go", "build", "-ldflags", string(m[1]), "-o", dir, "./cmd/...")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
}

// environment is that of the test without what would steer pequod, or a make
// that has nothing to do with the one that runs the test.
func environment(more ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PEQUOD_") && !strings.HasPrefix(v, "MAKE") && !strings.HasPrefix(v, "MFLAGS=") {
			env = append(env, v)
		}
	}
	return append(env, more...)
}

func checkVersion(t *testing.T, bin string) {
	out, err := exec.Command(filepath.Join(bin, "pequod"), "version", "-o", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Version, CUE, Kubernetes, GoVersion, Platform string }
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	want := got
	want.Version = testVersion
	want.CUE = moduleVersion(t, "cuelang.org/go")
	want.Kubernetes = moduleVersion(t, "k8s.io/apiextensions-apiserver")
	want.GoVersion = runtime.Version()
	want.Platform = runtime.GOOS + "/" + runtime.GOARCH
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("version (-want +got):\n%s", diff)
	}
}

func moduleVersion(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (s session) runIn(t *testing.T, bin string) {
	checkout, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	run := docsession.Session{
		Doc: s.doc, Dir: t.TempDir(), Checkout: checkout, NotRun: s.notRun,
		Env: environment(
			"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_COLOR=1",
			// Git needs to know who commits, and nothing else of the reader's.
			"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=Reader", "GIT_AUTHOR_EMAIL=reader@example.com",
			"GIT_COMMITTER_NAME=Reader", "GIT_COMMITTER_EMAIL=reader@example.com",
		),
		// Locks and the like are not to be left in the home directory.
		MoreEnv: []string{"XDG_CACHE_HOME=" + t.TempDir()},
	}
	if s.cluster {
		s.withCluster(t, bin, &run)
	}
	if s.inCheckout {
		run.Dir, run.ReadOnly = checkout, true
	}
	if s.doc == "README.md" {
		run.Must = []string{"make demo"}
	}
	docsession.Run(t, run)
}

func (s session) withCluster(t *testing.T, bin string, run *docsession.Session) {
	own := harness.StartOwn(t)
	if s.namespace != "" {
		own.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+s.namespace+"}}")
	}
	tools := t.TempDir()
	harness.Kubectl(t, tools)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	run.Env = append(run.Env, "KUBECONFIG="+kubeconfig,
		"PATH="+strings.Join([]string{bin, tools, os.Getenv("PATH")}, string(os.PathListSeparator)))
	reach := func() {
		if err := os.Symlink(own.Kubeconfig, kubeconfig); err != nil {
			t.Fatal(err)
		}
	}
	if s.clusterFrom == "" {
		reach()
	}
	run.Before = func(command string) {
		if command == s.clusterFrom {
			reach()
		}
		if command == s.applierFrom {
			runApplier(t, bin, own)
		}
	}
}
