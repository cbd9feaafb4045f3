package docs

import (
	"bufio"
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
	"github.com/pequod-io/pequod/test/server"
)

// session is a document whose commands are run. See package docsession.
type session struct {
	doc string
	// inCheckout runs the commands in the checkout, which they must not modify,
	// instead of an empty directory.
	inCheckout bool
	// notRun maps the commands that the test does not run to the reason.
	notRun map[string]string
	// cluster gives the session kubectl and a cluster of its own.
	cluster bool
	// namespace is an empty namespace that exists from the beginning.
	namespace string
	// clusterFrom is the first command that can reach the cluster. If it is
	// empty, all commands can.
	clusterFrom string
	// applierFrom is the command before which the applier is started. The test
	// cluster runs no containers, so the applier runs as a local process.
	applierFrom string
	// managerFrom is the same for the manager.
	managerFrom string
	// operator runs the manager, with the embedded platform webservice, before the
	// first command.
	operator bool
	// registry starts the registry of "make registry" on a free port, and uses its
	// address where the document has that of the command.
	registry bool
}

var sessions = []session{
	{doc: "README.md", notRun: map[string]string{
		"make test":                    "it runs this test",
		"make build":                   "the session is run with what it builds, made under another name",
		`export PATH="$PWD/bin:$PATH"`: "the session has a path of its own",
	}},
	{doc: "docs/tutorial.md", cluster: true, clusterFrom: "pequod install", applierFrom: "kubectl create serviceaccount pequod", managerFrom: "kubectl apply -f grants.yaml", registry: true},
	{doc: "docs/platform-engineer-guide.md"},
	{doc: "docs/cue-modules.md"},
	{doc: "docs/actions.md", notRun: map[string]string{"pequod status -n shop": "it needs Actions that have run; the script status_actions.txtar has some"}},
	{doc: "docs/policy.md"},
	{doc: "docs/monitors.md", notRun: map[string]string{"pequod status": "it needs a Monitor that has read something; the script status_actions.txtar has one"}},
	{doc: "docs/distribution.md"},
	{doc: "docs/gitops.md"},
	{doc: "docs/fleets.md"},
	{doc: "docs/SKILL.md"},
	{doc: "docs/comparison.md"},
	{doc: "docs/applying.md", cluster: true, namespace: "shop"},
	{doc: "docs/user-guide.md", cluster: true, namespace: "shop", operator: true},
	{doc: "docs/operations.md", cluster: true, applierFrom: "kubectl create namespace shop", managerFrom: "kubectl apply -f platform.yaml"},
	{doc: "CONTRIBUTING.md", inCheckout: true, notRun: map[string]string{
		"make build":   "it writes to the checkout",
		"make test":    "it runs this test",
		"make verify":  "it regenerates files of the checkout",
		"make goldens": "it rewrites files of the checkout",
		"git diff":     "it shows what the command before it has changed",
		"make cluster": "it runs until an interrupt; the tests of test/cluster run it",
		"make install": "it needs the cluster of make cluster; docs/operations.md installs the same",
		"make run RUN_FLAGS=--zap-log-level=debug":                                                             "it runs until an interrupt; docs/tutorial.md has a test with the same program",
		"go test -run '^$' -bench . -benchtime 1x -cpuprofile cpu.prof ./applier/engine":                       "it writes a profile to the checkout",
		"go tool pprof -top cpu.prof":                                                                          "it reads that profile",
		"make bench-cluster BENCH_CLUSTER_FLAGS='-part=graphs -graphs=100 -graph-rounds=1 -profiles=profiles'": "it takes minutes",
	}},
	{doc: "examples/irsa/README.md", inCheckout: true},
}

// noSession maps the documents that are not run to the reason.
var noSession = map[string]string{
	"SECURITY.md":          "it names tests instead; TestSecurityNamesTests checks them",
	"docs/api.md":          "it is written from the API types",
	"docs/benchmarks.md":   "it is generated from a history of results; make bench-history adds to it",
	"docs/ci.md":           "its files are for other systems; test/action runs their scripts",
	"docs/consequences.md": "it is generated; make consequences measures its rules",
	"docs/design.md":       "it follows the code, and has a picture but no commands",
	"docs/history.md":      "it needs a database; cmd/pequod-actions and cli/run test it with one",
	"docs/glossary.md":     "it explains terms",
	"docs/lock.md":         "it needs a registry; the script module_lock.txtar has one",
	"docs/migrate.md":      "it needs the inventories of other tools; the script adopt_from.txtar has them",
	"docs/executors.md":    "it describes a protocol; actions/executor/external tests it",
	"docs/receivers.md":    "its effects need senders; cmd/pequod-actions tests them",
	"docs/review.md":       "it shows a report; TestReviewDocument compares it with the command",
	"docs/seeds.md":        "it names tests; TestSeeds checks them",
	"docs/dependencies.md": "it has tables; test/tree compares them with go.mod",

	"docs/notifications.md": "it needs servers; cmd/pequod-actions has them, and checks its files",
}

// testVersion is newer than the versions that modules in the documentation need. It is that of
// package process, so that the programs are linked once.
const testVersion = "v1.2.3-test"

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

// TestDocsAreRun checks that every document is a session or is listed in
// noSession.
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

// buildAsMakeDoes builds pequod with the linker flags of `make build`. It does
// not set -trimpath, because the packages are compiled already without it.
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
	if err := server.Programs(t.Context(), dir, strings.TrimSpace(string(m[1])), []string{"pequod", "pequod-applier", "pequod-manager"}); err != nil {
		t.Fatal(err)
	}
}

// environment returns the environment of the test without variables that
// configure pequod or the make process that runs the test.
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
	return goOutput(t, "list", "-m", "-f", "{{.Version}}", path)
}

// goOutput returns the output of the go command.
func goOutput(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
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
			// Git needs an author. It must not read the configuration of the
			// user.
			"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=Reader", "GIT_AUTHOR_EMAIL=reader@example.com",
			"GIT_COMMITTER_NAME=Reader", "GIT_COMMITTER_EMAIL=reader@example.com",
		),
		// The session must not leave locks and caches in the home directory, nor read
		// the user's configuration.
		// The go command would compile everything again in another cache.
		MoreEnv: []string{"XDG_CACHE_HOME=" + t.TempDir(), "XDG_CONFIG_HOME=" + t.TempDir(), "GOCACHE=" + goOutput(t, "env", "GOCACHE")},
	}
	if s.cluster {
		s.withCluster(t, bin, &run)
	}
	if s.registry {
		run.Replace = map[string]string{"localhost:5001": startRegistry(t)}
	}
	if s.inCheckout {
		run.Dir, run.ReadOnly = checkout, true
	}
	if s.doc == "README.md" {
		run.Must = []string{"make demo"}
	}
	docsession.Run(t, run)
}

// startRegistry runs the program of "make registry" until the test ends. It returns the
// address of the registry.
func startRegistry(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "registry")
	if out, err := exec.Command("go", "build", "-o", program, "./test/registry").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	registry := exec.Command(program, "-address", "localhost:0")
	out, err := registry.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := registry.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = registry.Process.Kill()
		_ = registry.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`[\w.]+:\d+`).FindString(line)
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
	if s.operator {
		runManager(t, bin, own)
	}
	reach := func() {
		// The documents say that their reader is the administrator of a cluster.
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
		if command == s.managerFrom {
			startManager(t, bin, own)
		}
	}
}
