package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/harness"
)

// parrotToken is the credential that the servers of TestParrots repeat.
const parrotToken = "tok-AAAABBBBCCCC-1234567890"

// parrot is a server that repeats the token of a request wherever it can.
func parrot(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	half := token[:len(token)/2]
	w.Header().Set("X-Echo", token)
	w.Header().Set("Content-Type", "application/json")
	body := map[string]any{"token": token, "half": half, "names": map[string]any{token: 1}, "list": []string{token, half}}
	switch r.URL.Path {
	case "/accepted":
		w.Header().Set("Location", "/runs/"+token+"/state")
		w.WriteHeader(http.StatusAccepted)
	case "/refused":
		body = map[string]any{"message": "no right for " + token + ", that is " + half}
		w.WriteHeader(http.StatusUnprocessableEntity)
	case "/busy":
		body = map[string]any{"message": token}
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(body) // the client is gone
}

// parrotBroker is a broker that closes connections with the credentials that it got; see the
// specification of AMQP 0.9.1, sections 1.4 and 2.3.
func parrotBroker(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	frame := func(payload []byte) []byte {
		head := binary.BigEndian.AppendUint32([]byte{1, 0, 0}, uint32(len(payload)))
		return append(append(head, payload...), 0xce)
	}
	long := func(text string) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			go func() {
				defer conn.Close()
				start := slices.Concat([]byte{0, 10, 0, 10, 0, 9}, long(""), long("PLAIN"), long("en_US"))
				if _, err := io.ReadFull(conn, make([]byte, 8)); err != nil {
					return
				}
				if _, err := conn.Write(frame(start)); err != nil {
					return
				}
				answer := make([]byte, 4096)
				n, err := conn.Read(answer)
				if err != nil {
					return
				}
				_, credentials, _ := strings.Cut(string(answer[:n]), "PLAIN")
				credentials, _, _ = strings.Cut(credentials[4:], "\x05en_US")
				text := "ACCESS_REFUSED - login refused for" + strings.ReplaceAll(credentials[:len(credentials)-4], "\x00", " ")
				payload := slices.Concat([]byte{0, 10, 0, 50, 1, 147, byte(len(text))}, []byte(text), []byte{0, 0, 0, 0})
				_, _ = conn.Write(frame(payload)) // the client is gone
				_, _ = conn.Read(answer)          // until it is
			}()
		}
	}()
	return listener.Addr().String()
}

// TestParrots holds that a server that repeats credentials in every place that it controls doesn't get
// them, or parts of them, into what others may read: statuses, Events and the log.
func TestParrots(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := e.run(t)
	server := httptest.NewServer(http.HandlerFunc(parrot))
	t.Cleanup(server.Close)
	e.Apply(t, fmt.Sprintf(`
{apiVersion: v1, kind: Secret, metadata: {name: server}, stringData: {token: %[1]s}}
---
{apiVersion: v1, kind: Secret, metadata: {name: headers}, stringData: {Authorization: Bearer %[1]s, Accept: application/json}}
---
{apiVersion: v1, kind: Secret, metadata: {name: broker}, stringData: {url: "amqp://shop:%[1]s@%[2]s/"}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: runner}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: runner}, rules: [{apiGroups: [""], resources: [secrets], verbs: [get, create, patch]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: runner}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: runner}
subjects: [{kind: ServiceAccount, name: runner}]
`, parrotToken, parrotBroker(t)))
	actions := map[string]struct{ path, http, spec string }{
		"location":  {"accepted", "", ""},
		"refused":   {"refused", "", ""},
		"busy":      {"busy", "", ""},
		"poll":      {"body", `, poll: {url: "'SERVER/job/' + run.response.body.token", until: "true"}`, ""},
		"until":     {"body", `, poll: {url: "'SERVER/job'", until: "int(run.response.body.token) > 0"}`, ""},
		"find":      {"busy", `, find: {url: "'SERVER/found'", foundWhen: "int(run.response.body.half) > 0"}`, ""},
		"plain":     {"body", "", `, outputs: {x: run.response.body.token}`},
		"half":      {"body", "", `, outputs: {x: run.response.body.half}`},
		"split":     {"body", "", `, outputs: {x: "run.response.body.token.split('-')"}`},
		"changed":   {"body", "", `, outputs: {x: "run.response.body.token.replace('-', '').lowerAscii()"}`},
		"header":    {"body", "", `, outputs: {x: "run.response.headers['x-echo']"}`},
		"names":     {"body", "", `, outputs: {x: run.response.body.names}`},
		"sensitive": {"body", "", `, sensitiveOutputs: {secretName: found, values: {x: run.response.body.token}}`},
	}
	for name, a := range actions {
		e.Apply(t, strings.ReplaceAll(fmt.Sprintf(`{apiVersion: platform.pequod.io/v1alpha1, kind: Action, metadata: {name: %s}, spec: {serviceAccountName: runner, `+
			`http: {url: SERVER/%s, auth: {tokenSecretRef: {name: server, key: token}}%s}%s}}`, name, a.path, a.http, a.spec), "SERVER", server.URL))
	}
	e.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: Monitor
metadata: {name: parrot}
spec:
  serviceAccountName: runner
  interval: 5s
  target: {url: %s}
  probe: {http: {path: /body, headersSecretRef: {name: headers}}}
  state: response.body.token + response.body.half
  rules: [{name: longer, when: "size(state) > 5", severity: Error}]
`, server.URL))
	e.receiver(t, "broker", "\n  source: {amqp: {urlSecretRef: {name: broker, key: url}, queue: orders}}"+applyOrder)

	settled := func(kind string, names ...string) {
		for _, name := range names {
			harness.Eventually(t, patience, func(context.Context) error {
				status, _, _ := unstructured.NestedMap(e.Get(t, "platform.pequod.io/v1alpha1", kind, name).Object, "status")
				if text := fmt.Sprint(status); !strings.Contains(text, "Failed") && !strings.Contains(text, "True") && !strings.Contains(text, "attempt:2") && !strings.Contains(text, "answers 403") {
					return fmt.Errorf("%s %s: %v", kind, name, status)
				}
				return nil
			})
		}
	}
	for name := range actions {
		settled("Action", name)
	}
	settled("Monitor", "parrot")
	settled("Receiver", "broker")
	events, err := e.Client.EventsV1().Events(e.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]any{"Events": events, "the log": p.Log.String()}
	for _, kind := range []string{"Action", "Monitor", "Receiver"} {
		list, err := e.Await(t, "platform.pequod.io/v1alpha1", kind, "").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range list.Items {
			shown[kind+" "+object.GetName()] = object.Object["status"]
		}
	}
	for where, what := range shown {
		text, err := json.Marshal(what)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+8 <= len(parrotToken); i++ {
			if part := parrotToken[i : i+8]; strings.Contains(string(text), part) {
				t.Errorf("%s shows %s: %s", where, part, text)
				break
			}
		}
	}
	// Sensitive outputs keep the value of the response.
	harness.Eventually(t, patience, func(ctx context.Context) error {
		secret, err := e.Client.CoreV1().Secrets(e.Namespace).Get(ctx, "found", metav1.GetOptions{})
		if err == nil && string(secret.Data["x"]) != parrotToken {
			err = fmt.Errorf("the output is %s", secret.Data["x"])
		}
		return err
	})
}
