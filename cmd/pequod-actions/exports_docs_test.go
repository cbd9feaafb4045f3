package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"

	"github.com/pequod-io/pequod/actions/notify"
	"github.com/pequod-io/pequod/api/expression"
	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/internal/fluxowner"
)

// documented returns the code blocks of docs/notifications.md of a language.
func documented(t *testing.T, language string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/notifications.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// accepts reports whether the program accepts arguments.
func accepts(t *testing.T, args []string) *options {
	t.Helper()
	o := &options{}
	if _, _, err := o.program().Parse(args); err != nil {
		t.Errorf("%q: %v", args, err)
	}
	return o
}

// TestNotificationsDocument builds the kustomization of the document and parses the arguments that it
// leads to, and those of the commands. The Alert selects what is sent about a graph of its Kustomization, and the
// Provider gives it a status that isn't that of the Kustomization.
func TestNotificationsDocument(t *testing.T) {
	t.Parallel()
	yamls := documented(t, "yaml")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	relative, err := filepath.Rel(dir, root)
	if err != nil {
		t.Fatal(err)
	}
	kustomization := strings.ReplaceAll(yamls[0], "github.com/pequod-io/pequod/", relative)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization), 0o600); err != nil {
		t.Fatal(err)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, r := range built.Resources() {
		kinds[r.GetKind()+"/"+r.GetName()]++
		if r.GetKind() != "Deployment" {
			continue
		}
		var d appsv1.Deployment
		if err := yaml.Unmarshal([]byte(r.MustYaml()), &d); err != nil {
			t.Fatal(err)
		}
		o := accepts(t, d.Spec.Template.Spec.Containers[0].Args)
		if o.exports.events.address == "" || o.exports.parsed != notify.Flux || !strings.Contains(strings.Join(o.allow, " "), "10.96.0.0/12") {
			t.Errorf("options: %+v", o)
		}
	}
	for _, want := range []string{"Deployment/pequod-actions", "ClusterRole/pequod-actions-notifications", "Role/pequod-actions-notifications"} {
		if kinds[want] != 1 {
			t.Errorf("%d of %s", kinds[want], want)
		}
	}
	address := ""
	for _, block := range documented(t, "sh") {
		args := strings.Fields(strings.ReplaceAll(block, "\\\n", ""))
		if args[0] != name {
			t.Errorf("%s is not a command of %s", block, name)
		}
		if o := accepts(t, args[1:]); o.exports.traces.address != "" {
			address = o.exports.traces.address
		}
	}
	var collector struct {
		Receivers struct {
			OTLP struct {
				Protocols struct{ HTTP struct{ Endpoint string } }
			}
		}
	}
	if err := yaml.Unmarshal([]byte(yamls[3]), &collector); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(collector.Receivers.OTLP.Protocols.HTTP.Endpoint, ":")
	if port == "" || !strings.HasSuffix(address, ":"+port+"/v1/traces") {
		t.Errorf("traces are sent to %s, and the collector listens on %q", address, port)
	}

	var alert struct {
		Spec struct {
			EventSources []corev1.ObjectReference
		}
	}
	if err := yaml.Unmarshal([]byte(yamls[1]), &alert); err != nil || len(alert.Spec.EventSources) != 1 {
		t.Fatalf("%v: %s", err, yamls[1])
	}
	source := alert.Spec.EventSources[0]
	_, body, err := notify.Flux.Encode(notify.Notice{
		Object:  corev1.ObjectReference{Kind: "ResourceGraph", Namespace: "shop", Name: "web"},
		Applied: fluxowner.Of(map[string]string{"kustomize.toolkit.fluxcd.io/name": source.Name, "kustomize.toolkit.fluxcd.io/namespace": source.Namespace}),
	})
	if err != nil {
		t.Fatal(err)
	}
	var e eventv1.Event
	if err := yaml.UnmarshalStrict(body, &e); err != nil {
		t.Fatal(err)
	}
	if e.InvolvedObject.Kind != source.Kind || e.InvolvedObject.Name != source.Name || e.InvolvedObject.Namespace != source.Namespace {
		t.Errorf("the Alert doesn't select %s", body)
	}
	var provider struct {
		Spec struct{ CommitStatusExpr string }
	}
	if err := yaml.Unmarshal([]byte(yamls[2]), &provider); err != nil {
		t.Fatal(err)
	}
	for want, object := range map[string]string{"Kustomization/apps": "", "Kustomization/apps/ResourceGraph shop/web": e.Metadata["kustomize.toolkit.fluxcd.io/object"]} {
		metadata := map[string]any{"revision": "main@sha1:a"} // without the group, as expressions get it
		if object != "" {
			metadata["object"] = object
		}
		event := map[string]any{"involvedObject": map[string]any{"kind": e.InvolvedObject.Kind, "name": e.InvolvedObject.Name}, "metadata": metadata}
		got, err := expression.Eval(reference.NewVariables("event"), provider.Spec.CommitStatusExpr, map[string]any{"event": event})
		if err != nil || got != want {
			t.Errorf("the status is %v, want %s: %v", got, want, err)
		}
	}
}

// TestExportFlagsDocumented checks that the document has each flag of notifications and traces.
func TestExportFlagsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/notifications.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := 0
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&exportOptions{}).addFlags(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		flags++
		if !bytes.Contains(text, []byte("| `--"+f.Name+"` |")) {
			t.Errorf("docs/notifications.md has no row for --%s", f.Name)
		}
	})
	if flags < 8 {
		t.Errorf("%d flags", flags)
	}
}
