package main

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/test/hosts/app"
)

// TestMonitorExec runs commands in the container of the Pod that a rule has fired for: without a
// shell, without stdin, within a time, and with an output that is bounded.
func TestMonitorExec(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	a := app.Start(t)
	e.rights(t, readPods+`, {apiGroups: [""], resources: [pods/exec], verbs: [create]}`)
	e.pod(t, "web", a, "")
	const annotated = `{"metadata":{"annotations":{"testcluster.pequod.io/exec":"true"}}}`
	if _, err := e.Client.CoreV1().Pods(e.Namespace).Patch(t.Context(), "web", types.MergePatchType, []byte(annotated), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	e.watch(t, "--enable-exec")
	rule := func(name, exec string) string {
		return fmt.Sprintf(`{name: %s, %s, do: [{exec: {%s}}]},`, name, bad, exec)
	}
	e.monitor(t, "my-app",
		rule("plain", `command: [echo, "$(id) * ; exit 1"], reportOutput: true`)+
			rule("quiet", `command: [echo, hidden]`)+
			rule("dir", `command: [pwd], workingDir: /usr, reportOutput: true`)+
			rule("nowhere", `command: [pwd], workingDir: /does-not-exist`)+
			rule("quoted", `command: [echo, "'; id"], workingDir: /usr, reportOutput: true`)+
			rule("fails", `command: [sh, -c, "echo trouble >&2; exit 3"], reportOutput: true`)+
			rule("stdin", `command: [cat]`)+
			rule("slow", `command: [sleep, "3"], timeout: 1s`)+
			rule("large", `command: [sh, -c, "head -c 100000 /dev/zero | tr '\\0' y"], reportOutput: true`)+
			rule("missing", `container: other, command: [pwd]`), "")
	e.monitored(t, "my-app", reason("Healthy"))
	a.Set("unhealthy", 0)
	for rule, want := range map[string]string{
		"plain": "echo in container app exits with 0: $(id) * ; exit 1", "dir": "pwd in container app exits with 0: /usr",
		"nowhere": "exits with 2", "quoted": "exits with 0: '; id", "fails": "sh in container app exits with 3: trouble",
		"stdin": "cat in container app exits with 0", "slow": "sleep in container app has not ended within 1s",
		"large": "exits with 0: yyyy", "missing": `Pod web has no container "other"; there are: app`, "quiet": "exits with 0",
	} {
		e.monitored(t, "my-app", result(rule, want))
	}
	if m := e.Get(t, "platform.pequod.io/v1alpha1", "Monitor", "my-app"); strings.Contains(fmt.Sprint(m.Object["status"]), "hidden") {
		t.Errorf("the output is reported: %v", m.Object["status"])
	}
}
