package controller_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/metrics"
	"github.com/pequod-io/pequod/inventory/stored"
	"github.com/pequod-io/pequod/test/harness"
)

// journal collects the lines of a log.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) logger() logr.Logger {
	return funcr.New(func(prefix, args string) {
		j.mu.Lock()
		defer j.mu.Unlock()
		fmt.Fprintln(&j.text, prefix, args)
	}, funcr.Options{Verbosity: 10})
}

// Canaries: a value and a key of a Secret that hostile graphs try to get out of it.
const (
	canaryValue = "Kanarienvogel42"
	canaryKey   = "zaunkoenig-key"
)

// attempts are graphs that try to show what the Secret victim has. Each writes other
// objects.
var attempts = map[string]string{
	"computed-key": `nodes: [VICTIM, {id: copy, resource: {apiVersion: v1, kind: Secret, metadata: {name: c1},
		data: {$from: "{victim.data.password.replace('=','.'): 'eA=='}"}}}]
outputs: {leak: {$from: "copy.data.map(k, k)"}}`,
	"quoted-key": `nodes: [VICTIM, {id: copy, resource: {apiVersion: v1, kind: Secret, metadata: {name: c2}, data: {$from: "{victim.data.password: 'eA=='}"}}}]`,
	"invalid-value": `nodes: [VICTIM, {id: copy, resource: {apiVersion: v1, kind: Secret, metadata: {name: c3},
		data: {k: {$from: "victim.data.password + '!'"}}}}]`,
	"plain-value": `nodes: [VICTIM, {id: copy, resource: {apiVersion: v1, kind: Secret, metadata: {name: c4},
		data: {k: {$from: "string(base64.decode(victim.data.password)) + '!'"}}}}]`,
	"whole":       `nodes: [VICTIM, {id: copy, resource: {apiVersion: v1, kind: Secret, metadata: {name: c5}, data: {$from: victim.data}}}]`,
	"config":      `nodes: [VICTIM, {id: copy, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c6}, data: {$from: dyn(victim).data}}}]`,
	"keys":        `{nodes: [VICTIM], outputs: {leak: {$from: "victim.data.map(k, k)"}}}`,
	"all":         `{nodes: [VICTIM], outputs: {leak: {$from: "[victim]"}}}`,
	"annotation":  `{nodes: [VICTIM], outputs: {leak: {$from: "victim.metadata.?annotations.orValue({})"}}}`,
	"fields":      `{nodes: [VICTIM], outputs: {leak: {$from: "victim.metadata"}}}`,
	"presence":    `{nodes: [VICTIM], outputs: {leak: {$from: "has(victim.data.password)"}}}`,
	"error":       `nodes: [VICTIM, {id: copy, resource: {apiVersion: v1, kind: Secret, metadata: {name: c7}, data: {k: {$from: "string(int(victim.data.password))"}}}}]`,
	"missing":     `nodes: [VICTIM, {id: copy, resource: {apiVersion: v1, kind: Secret, metadata: {name: c8}, data: {k: {$from: "victim.metadata[victim.data.password]"}}}}]`,
	"name":        `nodes: [VICTIM, {id: copy, resource: {apiVersion: v1, kind: Secret, metadata: {name: c9}, stringData: {k: {$from: "victim.data.password"}}, type: {$from: victim.data.password}}}]`,
	"ready":       `nodes: [{id: victim, externalRef: {apiVersion: v1, kind: Secret, name: victim}, readyWhen: [{type: Expression, expr: "object.data.password == 'x'"}]}]`,
	"ready-error": `nodes: [{id: victim, externalRef: {apiVersion: v1, kind: Secret, name: victim}, readyWhen: [{type: Expression, expr: "int(dyn([object])[0].data.password) > 0"}]}]`,
	"optional": `nodes: [VICTIM, {id: copy, resource: {apiVersion: v1, kind: Secret, metadata: {name: c10},
		data: {k: {$from: "victim.data.password.startsWith('S') ? optional.of('eA==') : optional.none()"}}}}]`,
	"adopted": `nodes: [{id: victim, applyPolicy: {mode: Adopt}, resource: {apiVersion: v1, kind: Secret, metadata: {name: taken}, type: other, stringData: {password: x}}}]`,
}

// What is in a Secret is shown nowhere but in Secrets, whatever a graph does.
func TestSecretsAreShownNowhere(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	var log journal
	b.logger = log.logger()
	registry := prometheus.NewRegistry()
	b.options.Metrics = metrics.New(registry)
	b.start(b.Config)
	encoded := base64.StdEncoding.EncodeToString([]byte(canaryValue))
	for _, name := range []string{"victim", "taken"} {
		b.Apply(t, `{apiVersion: v1, kind: Secret, metadata: {name: `+name+`, annotations: {kubectl.kubernetes.io/last-applied-configuration: "`+
			encoded+canaryKey+`"}}, data: {password: `+encoded+`, `+canaryKey+`: `+encoded+`}}`)
	}
	for name, text := range attempts {
		b.apply(b.rendered(name, strings.ReplaceAll(text, "VICTIM", "{id: victim, externalRef: {apiVersion: v1, kind: Secret, name: victim}}")))
	}
	for name := range attempts {
		b.until(name, func(rg *v1alpha1.ResourceGraph) error {
			stalled, ready := condition("Stalled", "True", "", "")(rg), isReady(rg)
			if stalled != nil && ready != nil && rg.Status.NodeStates["copy"].Phase != v1alpha1.NodeWaiting {
				return errNotYet
			}
			return nil
		})
	}

	shown := map[string]string{}
	client, err := cluster.New(b.Config)
	if err != nil {
		t.Fatal(err)
	}
	a := &applier.Applier{Client: client, Inventories: stored.New(client.REST())}
	for name := range attempts {
		rg, err := b.get(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		shown["status of "+name] = jsonOf(t, rg.Status)
		// The reports of pequod status are made of these.
		state, err := a.Status(t.Context(), rg)
		shown["state of "+name] = jsonOf(t, state) + fmt.Sprint(err)
	}
	events, err := b.Client.EventsV1().Events(b.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	shown["Events"] = jsonOf(t, events)
	configMaps, err := b.Client.CoreV1().ConfigMaps(b.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	shown["ConfigMaps"] = jsonOf(t, configMaps)
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	shown["metrics"] = fmt.Sprint(gathered)
	log.mu.Lock()
	shown["log"] = log.text.String()
	log.mu.Unlock()
	for where, text := range shown {
		for _, canary := range []string{canaryValue, strings.TrimRight(encoded, "="), canaryKey} {
			if i := strings.Index(text, canary); i >= 0 {
				t.Errorf("%s has %q: …%s…", where, canary, text[max(0, i-200):min(len(text), i+100)])
			}
		}
	}
	for _, name := range []string{"presence", "ready", "keys"} {
		if text := shown["status of "+name]; strings.Contains(text, `"outputs"`) || !strings.Contains(text, "Invalid") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
