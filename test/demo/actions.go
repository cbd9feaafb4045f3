package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pequod-io/pequod/test/hosts/github"
	"github.com/pequod-io/pequod/test/postgres"
	"github.com/pequod-io/pequod/test/server"
)

// The names of the graphs of the two instances.
const (
	databaseGraph = "production-pg-54239288"
	appGraph      = "my-app-9da6dea0"
)

// instances are the examples of the documents that databasecluster and targetapp come from, by
// the names of their files here.
var instances = map[string]string{
	"database.yaml": "modules/platform/databasecluster/tests/seed/instance.yaml",
	"app.yaml":      "modules/platform/targetapp/tests/seed/instance.yaml",
}

// deployment is the application that app.yaml monitors. The annotation makes the fake kubelet
// give the Pod the address of the stand-in.
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: my-app
spec:
  selector:
    matchLabels: {app: my-app}
  template:
    metadata:
      labels: {app: my-app}
      annotations: {testcluster.pequod.io/address: %s}
    spec:
      containers: [{name: app, image: example.com/my-app}]
`

// waitForPod waits until the application has a Pod, and waitUntilReady until it is ready. They are two
// commands, because kubectl before 1.36 waits only for the last of two conditions.
const (
	waitForPod     = "kubectl wait pod -l app=my-app --for=create --timeout=3m"
	waitUntilReady = "kubectl wait pod -l app=my-app --for=condition=Ready --timeout=3m"
)

// createDatabase creates the database of the history, as [postgres.Create] does.
type createDatabase func(context.Context) (*postgres.Database, error)

// actions is the demonstration of `make demo-actions`: a workflow makes a database, and an
// application that is unhealthy is restarted.
func actions(create createDatabase) scenario {
	return scenario{
		programs: []string{"pequod-applier", "pequod-actions"},
		play: func(ctx context.Context, s *session) (string, error) {
			return playActions(ctx, s, create)
		},
		next:   "pequod status",
		target: "demo-actions",
	}
}

func playActions(ctx context.Context, s *session, create createDatabase) (string, error) {
	s.say("Outside of the cluster are a stand-in for GitHub, an application with a GraphQL endpoint, and PostgreSQL.")
	o, err := s.startOutside(ctx, create)
	if err != nil {
		return "", err
	}
	if o.database == nil {
		s.say("PostgreSQL isn't installed (on Debian: apt-get install postgresql), so the history is in the status of objects only.")
	}
	if err := s.writeActions(o); err != nil {
		return "", err
	}
	if err := s.all(ctx, installActions(o)); err != nil {
		return "", err
	}
	if err := s.startActions(ctx, o); err != nil {
		return "", err
	}
	began := time.Now()
	if err := s.all(ctx, slices.Concat(prepare(o), runDatabase)); err != nil {
		return "", err
	}
	if err := s.restartApp(ctx, o); err != nil {
		return "", err
	}
	if err := s.all(ctx, showHistory(o)); err != nil {
		return "", err
	}
	return fmt.Sprintf("The part after the installation has taken %s", time.Since(began).Round(100*time.Millisecond)), nil
}

// startActions starts the programs.
func (s *session) startActions(ctx context.Context, o *outside) error {
	s.say("No container runs in this cluster, so the programs run beside it, as these accounts.")
	if err := s.start(ctx, "pequod-applier"); err != nil {
		return err
	}
	s.say("The stand-ins are on the loopback interface, which nothing connects to unless it is allowed.")
	flags := []string{"--allow-egress=127.0.0.0/8,http://127.0.0.1", "--monitor-networks=127.77.0.0/16"}
	if o.database != nil {
		flags = append(flags, "--history-url-file=url.txt")
	}
	return s.start(ctx, "pequod-actions", flags...)
}

// writeActions writes the files of the commands.
func (s *session) writeActions(o *outside) error {
	root, err := server.Checkout()
	if err != nil {
		return err
	}
	for name, path := range instances {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
		if err != nil {
			return err
		}
		if err := s.write(name, string(text)); err != nil {
			return err
		}
	}
	if err := s.write("token", github.Token); err != nil {
		return err
	}
	return s.write("deployment.yaml", fmt.Sprintf(deployment, o.app.Address))
}

// installActions brings the programs into the cluster.
func installActions(o *outside) []step {
	steps := []step{{
		says:     "The applier and pequod-actions are installed: definitions, accounts, and their roles.",
		commands: []string{"pequod install", "pequod install --mode actions --allow-egress api.github.com"},
	}}
	if o.database != nil {
		steps = append(steps, step{
			says: "For the history, pequod-actions reads graphs and Events, too.",
			commands: []string{
				"kubectl create clusterrole pequod-actions-history --verb=list,watch --resource=resourcegraphs.platform.pequod.io,events.events.k8s.io",
				"kubectl create clusterrolebinding pequod-actions-history --clusterrole=pequod-actions-history --serviceaccount=pequod-system:pequod-actions",
			},
		})
	}
	return steps
}

// prepare makes what is there before developers come, and the application.
func prepare(o *outside) []step {
	return []step{{
		says: "The platform team prepares the namespace: where the workflow is, and an account that may read the token.",
		commands: []string{
			"kubectl create configmap databasecluster --from-literal=repository=" + github.Repository + " --from-literal=server=" + o.github.URL,
			"kubectl create secret generic github --from-file=token",
			"kubectl create serviceaccount pequod",
			"kubectl create role github --verb=get --resource=secrets --resource-name=github",
			"kubectl create rolebinding github --role=github --serviceaccount=default:pequod",
		},
	}, {
		says:     "An application runs.",
		commands: []string{"kubectl apply -f deployment.yaml", waitForPod, waitUntilReady, "kubectl get pods"},
	}}
}

// runDatabase executes the instances. The database is made, and then another one.
var runDatabase = []step{{
	says:     "Developers want a database, and a monitor of their application.",
	commands: []string{"cat database.yaml", "cat app.yaml"},
}, {
	says: "The database becomes an Action, which runs a workflow. The application gets a Monitor, with an account of its own.",
	commands: []string{
		"pequod render -f database.yaml -f app.yaml > graphs.yaml",
		"pequod graph -f graphs.yaml",
		"pequod rbac generate -f graphs.yaml | kubectl apply -f -",
		"kubectl apply --server-side -f graphs.yaml",
		"pequod status " + databaseGraph + " " + appGraph + " --wait --timeout 3m",
	},
}, {
	says: "The database is ready. Its Action has the run of the workflow, and the graph what the run returned.",
	commands: []string{
		"kubectl get action production-pg -o wide",
		"kubectl get resourcegraph " + databaseGraph + ` -o jsonpath='{.status.outputs}{"\n"}'`,
	},
}, {
	says: "Another instance class is another run.",
	commands: []string{
		"sed 's/db.large/db.xlarge/' database.yaml | pequod render -f - | kubectl apply --server-side -f -",
		"pequod status " + databaseGraph + " --wait --timeout 3m",
	},
}}

// restartApp has the application become unhealthy, and waits until its Pod is replaced.
func (s *session) restartApp(ctx context.Context, o *outside) error {
	err := s.all(ctx, []step{{
		says:     "The Monitor has read the application, which is healthy.",
		commands: []string{"kubectl wait monitor/my-app --for=condition=Ready --timeout=3m", "pequod status"},
	}})
	if err != nil {
		return err
	}
	o.app.Set("unhealthy", 7)
	err = s.all(ctx, []step{{
		says:     "Now it says that it is unhealthy. The next poll, within 30 seconds, restarts it.",
		commands: []string{"kubectl wait pod -l app=my-app --for=delete --timeout=3m"},
	}})
	if err != nil {
		return err
	}
	o.app.Set("healthy", 0) // that of the next Pod
	return s.all(ctx, []step{{
		says: "Events say what happened, and the Pod is another one.",
		commands: []string{
			waitForPod,
			waitUntilReady,
			"kubectl events --for monitor/my-app",
			"kubectl get pods",
		},
	}})
}

// showHistory prints the runs and executions.
func showHistory(o *outside) []step {
	if o.database == nil {
		return []step{{
			says:     "The history of the database:",
			commands: []string{"pequod history action/production-pg", "pequod history " + databaseGraph},
		}}
	}
	return []step{{
		says: "PostgreSQL has the history of the database, and keeps it when the objects are deleted.",
		commands: []string{
			"pequod history action/production-pg --from postgres --history-url-file url.txt",
			"pequod history " + databaseGraph + " --from postgres --history-url-file url.txt",
		},
	}}
}
