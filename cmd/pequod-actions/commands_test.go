package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// operator is pequod-manager as it is installed.
var operator = process.Program{Name: "pequod-manager", Account: "pequod-controller-manager", Manifests: config.Operator}

// commandRow is a row of docs/seeds.md that is shown by TestCommands. Its second cell has the command.
var commandRow = regexp.MustCompile("(?m)^\\| (`curl [^|]*) \\| otherwise: `(.+)` \\| \\[`TestCommands`\\].*$")

// commandOutputs are what the commands of docs/seeds.md print in the end, in their order.
var commandOutputs = []string{
	`transform.platform.pequod.io/databasecluster created`,
	`databasecluster\s+Ready\s+True`,
	`databasecluster\s+Ready\s+True`,
	`phase: Ready`,
	`"maximum":10000`,
	`transform.platform.pequod.io/topic created`,
	`databasecluster.pequod.io/production-pg created`,
	`(?s)endpoint: production-pg.example.com:5432.*phase: Ready`,
	`"endpoint":"production-pg.example.com:5432"`,
	`databasecluster.pequod.io/production-pg configured`,
	`"generation":2`,
	`(?s)"endpoint":"production-pg.example.com:5432".*"name":"job-0".*"name":"pequod-outputs"`,
	`action.platform.pequod.io/production-pg annotated`,
	`Requested`,
	`action.platform.pequod.io/production-pg reconciliation requested`,
	`pequod-controller-manager`,
	`"production-pg" deleted`,
}

// commandFiles are the files of the commands, beside the instances.
var commandFiles = map[string]string{
	"transform.yaml": `
apiVersion: platform.pequod.io/v1alpha1
kind: Transform
metadata: {name: databasecluster}
spec:
  cueRef: {type: embedded, ref: databasecluster}
  managedResources:
  - {apiGroup: platform.pequod.io, resources: [actions]}
  - {apiGroup: "", resources: [configmaps]}
`,
	"versions.yaml": `
apiVersion: platform.pequod.io/v1alpha1
kind: Transform
metadata: {name: topic}
spec:
  managedResources: [{apiGroup: "", resources: [configmaps]}]
  cueRef:
    type: inline
    files:
    - name: topic.cue
      content: |
        package topic

        #Platform: kind: "Topic"
        #Versions: {
        	v1: {
        		storage: true
        		#Input: days: int
        	}
        	v1beta1: #Input: days: int
        }
        #Render: {
        	input: {metadata: {name: string, namespace: string}, spec: #Versions.v1.#Input}
        	output: nodes: {}
        }
`,
}

// commandDir returns a directory with kubectl and the files of the commands.
func commandDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	harness.Kubectl(t, dir)
	files := map[string]string{}
	for name, text := range commandFiles {
		files[name] = text
	}
	for name, of := range map[string]string{"production-pg.yaml": "seed", "resized.yaml": "resized"} {
		text, err := os.ReadFile(databaseCase(t, of))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCommands runs what stands in docs/seeds.md for the commands of the operator controller, with
// the manager, and with workflows of GitHub.
func TestCommands(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/seeds.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := commandRow.FindAllStringSubmatch(string(text), -1)
	if len(rows) != len(commandOutputs) {
		t.Fatalf("docs/seeds.md has %d commands, want %d", len(rows), len(commandOutputs))
	}
	c, s := databaseEnv(t, operator)
	c.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: pequod-manager-actions, labels: {pequod.io/aggregate-to-manager: "true"}}
rules: [{apiGroups: [platform.pequod.io], resources: [actions], verbs: [get, list, watch, create, patch, delete]}]
`)
	dir := commandDir(t)
	for i, row := range rows {
		if i == len(rows)-1 { // which deletes the instance
			proxyCommands(t, c, dir)
			harness.Eventually(t, patience, func(context.Context) error {
				if runs := s.Runs(); len(runs) < 5 {
					return fmt.Errorf("runs: %v", runs)
				}
				return nil
			})
		}
		want := regexp.MustCompile(commandOutputs[i])
		harness.Eventually(t, patience, func(ctx context.Context) error {
			if args, ok := strings.CutPrefix(row[2], "pequod "); ok {
				if out := process.Pequod(t, c, 0, append(strings.Fields(args), "-n", c.Namespace)...); !want.MatchString(out) {
					return fmt.Errorf("%s: %s", row[2], out)
				}
				return nil
			}
			cmd := exec.CommandContext(ctx, "sh", "-c", row[2])
			// Whoever had the commands of the document had all rights: the administrator of the cluster.
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "PATH="+dir+":"+os.Getenv("PATH"))
			if out, err := cmd.CombinedOutput(); err != nil || !want.Match(out) {
				return fmt.Errorf("%s: %v: %s", row[2], err, out)
			}
			return nil
		})
	}
	// The example, another spec, and three requests.
	if runs := s.Runs(); len(runs) != 5 {
		t.Errorf("runs: %v", runs)
	}
	versions := fmt.Sprint(c.Get(t, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "topics.pequod.io").Object["spec"])
	if !strings.Contains(versions, "name:v1beta1") {
		t.Errorf("no version v1beta1: %s", versions)
	}
	(&graphEnv{Cluster: c}).missing(t, "Action", "production-pg")
}

// proxyBlock are the commands of docs/receivers.md that read and write with kubectl proxy.
var proxyBlock = regexp.MustCompile("(?s)```sh\n(kubectl proxy &\n.*?)```")

// proxyCommands runs these commands for the instance and the Action production-pg.
func proxyCommands(t *testing.T, c *harness.Cluster, dir string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/receivers.md")
	if err != nil {
		t.Fatal(err)
	}
	block := proxyBlock.FindSubmatch(text)
	if block == nil {
		t.Fatal("docs/receivers.md has no commands with kubectl proxy")
	}
	address := process.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	script := strings.NewReplacer(
		"kubectl proxy &", "kubectl proxy --port="+port+" >proxy.log & trap \"kill $!\" EXIT\n"+
			"until curl -sf http://"+address+"/version >/dev/null; do sleep 0.2; done",
		"127.0.0.1:8001", address, "namespaces/default", "namespaces/"+c.Namespace,
		" | jq .status.history", "", " | jq .status", "", // jq isn't on every machine
		`curl -s "${cluster%/*}?watch`, `curl -s --max-time 5 "${cluster%/*}?watch`, // a watch has no end
	).Replace(string(block[1]))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	// The document is for users with rights of their own: here, the administrator of the cluster.
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	for _, want := range []string{
		`(?s)"kind": "DatabaseCluster".*"endpoint": "production-pg.example.com:5432"`, `(?s)"kind": "Action".*"history": \[\s*\{`,
		`"type":"ADDED","object":\{[^\n]*"kind":"DatabaseCluster"`, `"pequod.io/reconcile-requested-at": "20`,
	} {
		if err != nil || !regexp.MustCompile(want).Match(out) {
			t.Fatalf("%v: no match for %s in the output of\n%s\n%s", err, want, script, out)
		}
	}
}
