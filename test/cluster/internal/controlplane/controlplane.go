// Package controlplane runs a Kubernetes control plane in this process: etcd, the
// API server, the controller manager, the scheduler, and the fake kubelet in
// place of nodes. All except the kubelet are the real programs, built from their
// Go modules. They are started through their options instead of their commands,
// because the signal handlers of the commands can be installed only once in a
// process.
//
// [Run] is the entry point. It can be called only once in a process, because the
// feature gates, metrics and configuration handlers of Kubernetes are global.
package controlplane

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/pequod-io/pequod/test/cluster/internal/group"
	"github.com/pequod-io/pequod/test/cluster/internal/kubelet"
	"github.com/pequod-io/pequod/test/cluster/internal/pki"
)

// Options configure a control plane.
type Options struct {
	// Dir has all the state. The caller must hold its lock.
	Dir string
	// Temporary means that the caller deletes Dir afterwards. Run then deletes
	// the directories of volumes too.
	Temporary bool
	// Port is the port of the API server on 127.0.0.1. With 0, the port of the
	// last run in the same directory is used if it is free, otherwise any port.
	Port int
	// Nodes is the number of nodes that the fake kubelet registers.
	Nodes int
	// Gates are the feature gates of the API server, "" for the defaults.
	Gates string
}

// startPatience is how long a step of the start may take on a machine that is
// busy, stopPatience how long a component may take to stop.
const (
	startPatience = 3 * time.Minute
	stopPatience  = 5 * time.Second
)

// The users of the control plane. Kubernetes binds its own roles to the names
// of its components; the administrator and the kubelet may do everything.
const (
	admin             = "admin"
	controllerManager = "system:kube-controller-manager"
	scheduler         = "system:kube-scheduler"
	nodes             = "system:testcluster-kubelet"
)

// users returns the users of the control plane with their groups.
func users() []pki.User {
	masters := []string{"system:masters"}
	return []pki.User{
		{Name: admin, Groups: masters},
		{Name: controllerManager},
		{Name: scheduler},
		{Name: nodes, Groups: masters},
	}
}

// Run starts a control plane and calls ready with the administrator's kubeconfig
// as soon as Pods can be created, scheduled and run. It returns when ctx is done
// and everything has stopped, or with the error of the first component that
// failed.
func Run(ctx context.Context, opts Options, ready func(kubeconfig string)) (err error) {
	closeLog, err := logTo(opts.join("server.log"))
	if err != nil {
		return err
	}
	defer closeLog()
	kubeconfig := opts.join("kubeconfig")
	// The kubeconfig exists only while the control plane is usable.
	removeKubeconfig := func() { _ = os.Remove(kubeconfig) }
	removeKubeconfig()
	files, err := pki.Ensure(opts.join("pki"), users())
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	listener, err := listen(opts)
	if err != nil {
		return err
	}
	access := access{url: "https://" + listener.Addr().String(), files: files}
	etcd, err := startEtcd(opts)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer etcd.Close()

	parsed, err := parseOptions(opts, access, etcd.Clients[0].Addr().String(), listener)
	if err != nil {
		return err
	}
	group := group.New(startPatience, stopPatience)
	defer group.Stop()
	group.Start("kube-apiserver", parsed.runAPIServer)
	client, err := kubernetes.NewForConfig(access.config(admin))
	if err != nil {
		return err
	}
	// An API server that is stopped while it starts ends the process with a stack
	// trace, so an interrupt takes effect only after the start.
	starting := context.WithoutCancel(ctx)
	if err := group.Await(starting, "kube-apiserver", func(ctx context.Context) error { return apiReady(ctx, client) }); err != nil {
		return err
	}
	if err := ensureStorageClass(ctx, client); err != nil {
		return ended(ctx, err)
	}
	group.Start("kube-controller-manager", parsed.runControllerManager)
	group.Start("kube-scheduler", parsed.runScheduler)
	group.Start("kubelet", func(ctx context.Context) error {
		return runKubelet(ctx, access, opts.Nodes)
	})
	if err := group.Await(ctx, "control plane", func(ctx context.Context) error { return usable(ctx, client, opts.Nodes) }); err != nil {
		return ended(ctx, err)
	}
	defer removeKubeconfig()
	if err := access.writeKubeconfig(kubeconfig, admin); err != nil {
		return err
	}
	ready(kubeconfig)
	err = group.Wait(ctx)
	if opts.Temporary {
		removeVolumes(client)
	}
	return err
}

// ended returns nil if the start was interrupted, and err if it failed.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// join returns a path in the data directory.
func (o Options) join(name string) string { return o.Dir + string(os.PathSeparator) + name }

// listen opens the port of the API server and records it in the data directory,
// so that clients find the server again after a restart.
func listen(opts Options) (net.Listener, error) {
	remembered := opts.join("port")
	port := opts.Port
	if port == 0 {
		// If the recorded port cannot be read or is taken, another one is used.
		data, _ := os.ReadFile(remembered)
		port, _ = strconv.Atoi(strings.TrimSpace(string(data)))
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil && opts.Port == 0 {
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, err
	}
	taken := listener.Addr().(*net.TCPAddr).Port
	return listener, os.WriteFile(remembered, []byte(strconv.Itoa(taken)), 0o600)
}

// runKubelet runs the fake kubelet until ctx is done.
func runKubelet(ctx context.Context, access access, count int) error {
	client, err := kubernetes.NewForConfig(access.config(nodes))
	if err != nil {
		return err
	}
	return kubelet.Run(ctx, client, kubelet.Options{Nodes: kubelet.NodeNames(count), Backoff: time.Second, Server: kubelet.Server{URL: access.url, CAFile: access.files.CA}})
}
