package controlplane

import (
	"context"
	"fmt"
	"net"
	"slices"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	manageroptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	sched "k8s.io/kubernetes/cmd/kube-scheduler/app"
	schedoptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"

	"github.com/pequod-io/pequod/test/cluster/internal/pki"
)

// components has the parsed options of the three programs.
type components struct {
	apiserver *apiserveroptions.ServerRunOptions
	manager   *manageroptions.KubeControllerManagerOptions
	scheduler *schedoptions.Options
}

// parseOptions parses the flags of all three programs before it sets the feature
// gates, which the programs share and which can be set only once. The flags of the
// controller manager come first: before Kubernetes 1.36, they change a default, which
// is refused once the gates are flags.
func parseOptions(opts Options, access access, etcd string, listener net.Listener) (components, error) {
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	var c components
	var err error
	if c.manager, err = manageroptions.NewKubeControllerManagerOptions(); err != nil {
		return c, err
	}
	managerConfig := opts.join("controller-manager.kubeconfig")
	if err := access.writeKubeconfig(managerConfig, controllerManager); err != nil {
		return c, err
	}
	flags := c.manager.Flags(manager.KnownControllers(), manager.ControllersDisabledByDefault(), manager.ControllerAliases())
	if err := parse("kube-controller-manager", flags, managerFlags(access.files, managerConfig)); err != nil {
		return c, err
	}

	c.apiserver = apiserveroptions.NewServerRunOptions()
	serverFlags := apiServerFlags(access.files, etcd)
	if opts.Gates != "" {
		serverFlags = append(serverFlags, "--feature-gates="+opts.Gates)
	}
	if err := parse("kube-apiserver", c.apiserver.Flags(), serverFlags); err != nil {
		return c, err
	}
	c.apiserver.SecureServing.Listener = listener
	c.apiserver.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port

	c.scheduler = schedoptions.NewOptions()
	schedulerConfig := opts.join("scheduler.kubeconfig")
	if err := access.writeKubeconfig(schedulerConfig, scheduler); err != nil {
		return c, err
	}
	if err := parse("kube-scheduler", *c.scheduler.Flags, schedulerFlags(schedulerConfig)); err != nil {
		return c, err
	}
	return c, compatibility.DefaultComponentGlobalsRegistry.Set()
}

// parse parses the flags of one program. Unknown flags are an error.
func parse(name string, sets cliflag.NamedFlagSets, args []string) error {
	all := sets.FlagSet("all")
	for key, set := range sets.FlagSets {
		if key != "all" {
			all.AddFlagSet(set)
		}
	}
	if err := all.Parse(args); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// apiServerFlags returns the flags of the API server.
func apiServerFlags(files pki.Files, etcd string) []string {
	return []string{
		"--etcd-servers=http://" + etcd,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		// No Pod can use the kubernetes Service, because there is no kube-proxy.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		"--tls-cert-file=" + files.ServerCert,
		"--tls-private-key-file=" + files.ServerKey,
		"--token-auth-file=" + files.TokenFile,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + files.ServiceAccount,
		"--service-account-signing-key-file=" + files.ServiceAccount,
		"--requestheader-client-ca-file=" + files.ProxyCA,
		"--requestheader-allowed-names=" + pki.ProxyName,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + files.ProxyCert,
		"--proxy-client-key-file=" + files.ProxyKey,
	}
}

// controllers returns the value of --controllers: all except those for clouds, which
// Kubernetes 1.37 has no more, and the one for ranges of addresses. The fake kubelet
// assigns addresses to Services.
func controllers() string {
	known := manager.KnownControllers()
	value := "*"
	for _, name := range []string{"node-ipam-controller", "node-route-controller", "cloud-node-lifecycle-controller", "service-lb-controller"} {
		if slices.Contains(known, name) {
			value += ",-" + name
		}
	}
	return value
}

// managerFlags returns the flags of the controller manager. Its client has no
// rate limit that would slow tests down.
func managerFlags(files pki.Files, kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--controllers=" + controllers(),
		"--leader-elect=false",
		"--secure-port=0",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + files.ServiceAccount,
		"--root-ca-file=" + files.CA,
		"--enable-hostpath-provisioner=true",
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	}
}

// schedulerFlags returns the flags of the scheduler.
func schedulerFlags(kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	}
}

// runAPIServer runs the API server until ctx is done.
func (c components) runAPIServer(ctx context.Context) error {
	completed, err := c.apiserver.Complete(ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return utilerrors.NewAggregate(errs)
	}
	return apiserver.Run(ctx, completed)
}

// runControllerManager runs the controller manager until ctx is done.
func (c components) runControllerManager(ctx context.Context) error {
	config, err := c.manager.Config(ctx, manager.KnownControllers(), manager.ControllersDisabledByDefault(), manager.ControllerAliases())
	if err != nil {
		return err
	}
	return manager.Run(ctx, config.Complete())
}

// runScheduler runs the scheduler until ctx is done.
func (c components) runScheduler(ctx context.Context) error {
	config, scheduler, err := sched.Setup(ctx, c.scheduler)
	if err != nil {
		return err
	}
	return sched.Run(ctx, config, scheduler)
}
