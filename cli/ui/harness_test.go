package ui_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/ui"
	"github.com/pequod-io/pequod/test/browser"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/inprocess"
)

func TestMain(m *testing.M) { inprocess.Main(m) }

// address is the line that the command prints.
var address = regexp.MustCompile(`^Serving the graphs of .* on (http://127\.0\.0\.1:\d+/[0-9a-f]{16}/\?token=[0-9a-f]{64})$`)

// serve runs the command until the test ends, and returns the printed address. Stop
// interrupts it, and fails the test unless it ends without an error.
func serve(t *testing.T, kubeconfig string, args ...string) (page string, stop func()) {
	t.Helper()
	in, out := io.Pipe()
	var problems bytes.Buffer
	cmd := ui.Commands(command.Env{In: strings.NewReader(""), Out: out, Err: &problems, Getenv: os.LookupEnv})[0]
	cmd.SetArgs(append([]string{"--kubeconfig", kubeconfig}, args...))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.ExecuteContext(ctx)
		out.Close()
	}()
	line, _ := bufio.NewReader(in).ReadString('\n')
	match := address.FindStringSubmatch(strings.TrimSpace(line))
	if match == nil {
		cancel()
		t.Fatalf("it printed %q: %v: %s", line, <-ended, &problems)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the command ended with %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("an interrupt doesn't end the command")
		}
	}
	t.Cleanup(stop)
	return match[1], stop
}

// open opens the page in a browser. When the test ends, the page must have had no problems
// and have sent no requests to others.
func open(t *testing.T, b *browser.Browser, address string) *browser.Page {
	t.Helper()
	p := b.Open(t, address)
	p.Wait(`document.querySelector("#connection.live")`)
	if where := browser.Eval[string](p, "location.search + location.pathname"); !regexp.MustCompile(`^/[0-9a-f]{16}/$`).MatchString(where) {
		t.Errorf("the token stays in the address bar: %s", where)
	}
	browser.Eval[bool](p, "window.opened = true") // a page that is loaded again lacks it
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, request := range p.Requests() {
			if !strings.HasPrefix(request, "http://"+at.Host+at.Path) && request != "http://"+at.Host+"/favicon.ico" {
				t.Errorf("the page asked for %s", request)
			}
		}
	})
	return p
}

// clean fails the test if the page had problems or was loaded again.
func clean(t *testing.T, p *browser.Page) {
	t.Helper()
	if problems := p.Problems(); len(problems) > 0 {
		t.Errorf("problems: %q", problems)
	}
	if !browser.Eval[bool](p, "window.opened === true") {
		t.Error("the page was loaded again")
	}
}

// client returns a client with the cookie of the page, and the address of the page.
func client(t *testing.T, address string) (*http.Client, string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Timeout: time.Minute}
	answer, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", address, answer.Status)
	}
	page, _, _ := strings.Cut(address, "?")
	return c, page
}

// graph returns a ResourceGraph with the given content.
func graph(t *testing.T, c *harness.Cluster, name, content string) *v1alpha1.ResourceGraph {
	t.Helper()
	rg := &v1alpha1.ResourceGraph{}
	if err := yaml.Unmarshal([]byte(content), &rg.Spec.Graph); err != nil {
		t.Fatal(err)
	}
	rg.Name, rg.Namespace, rg.Spec.RenderHash = name, c.Namespace, "x"
	return rg
}

// create creates a ResourceGraph that reports drift.
func create(t *testing.T, c *harness.Cluster, rg *v1alpha1.ResourceGraph) {
	t.Helper()
	rg.APIVersion, rg.Kind, rg.Spec.DriftPolicy = v1alpha1.GroupVersion.String(), "ResourceGraph", v1alpha1.DriftReport
	if rg.Spec.SourceRef.Kind == "" {
		rg.Spec.SourceRef = v1alpha1.ObjectRef{APIVersion: "pequod.io/v1alpha1", Kind: "WebService", Name: rg.Name}
	}
	rg.Spec.PlatformRef.Module = "webservice"
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(rg)
	if err != nil {
		t.Fatal(err)
	}
	delete(object, "status")
	client := c.Await(t, rg.APIVersion, rg.Kind, "")
	if _, err := client.Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
