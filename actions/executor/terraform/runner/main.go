package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pequod-io/pequod/internal/source"
)

// Command is the first argument of pequod-actions that runs this program. The second one is the
// word copy, or a [Mode].
const Command = "tofu"

// Program is the name that the program is copied to.
const Program = "pequod-actions"

// The variables of the environment that describe the Pod and its Job.
const (
	EnvNamespace = "PEQUOD_NAMESPACE"
	EnvPod       = "PEQUOD_POD"
	EnvPodUID    = "PEQUOD_POD_UID"
	EnvJob       = "PEQUOD_JOB"
	EnvJobUID    = "PEQUOD_JOB_UID"
)

// maxMessage is the length of a termination message in bytes.
const maxMessage = 2000

// runner is one run.
type runner struct {
	program
	mode Mode
	// input and plan are the names of Secrets: of the input, and of a plan that was approved.
	input, plan, digest string
	suffix              string // of the state
	lockTimeout         time.Duration
	message             string // the file of the termination message

	namespace, pod, podUID, job, jobUID string
	inCluster                           bool

	leases  typedcoordinationv1.LeaseInterface
	secrets typedcorev1.SecretInterface
	pods    typedcorev1.PodInterface
}

// Main runs the program with the arguments after [Command], and returns its exit code.
func Main(args []string, log io.Writer) int {
	if len(args) == 2 && args[0] == "copy" {
		if err := copyTo(args[1]); err != nil {
			fmt.Fprintln(log, err)
			return 1
		}
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := &runner{program: program{log: log}}
	err := r.parse(args)
	if err == nil {
		err = r.connect()
	}
	var summary string
	if err == nil {
		summary, err = r.run(ctx)
	}
	if err != nil {
		summary = r.redact(err.Error())
	}
	fmt.Fprintln(log, summary)
	if r.message != "" {
		// Best effort: without the file, the exit code still reports the result.
		_ = os.WriteFile(r.message, []byte(source.OneLine(summary, maxMessage)), 0o600)
	}
	var known *failure
	switch {
	case err == nil:
		return 0
	case errors.As(err, &known) && known.permanent:
		return ExitPermanent
	}
	return 1
}

// copyTo copies the running program into a directory.
func copyTo(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, Program), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return err
	}
	return to.Close()
}

// parse reads the arguments and the environment.
func (r *runner) parse(args []string) error {
	fs := pflag.NewFlagSet(Command, pflag.ContinueOnError)
	fs.StringVar(&r.dir, "dir", "", "directory for the files")
	fs.StringVar(&r.input, "input", "", "Secret with the input")
	fs.StringVar(&r.plan, "plan", "", "Secret with the plan that was approved")
	fs.StringVar(&r.digest, "digest", "", "digest of that plan")
	fs.StringVar(&r.suffix, "state", "", "suffix of the name of the state")
	fs.DurationVar(&r.lockTimeout, "lock-timeout", 0, "how long to wait for the lock of the state")
	fs.StringVar(&r.message, "message", "", "file of the termination message")
	if err := fs.Parse(args); err != nil {
		return err
	}
	switch r.mode = Mode(fs.Arg(0)); r.mode {
	case Plan, Apply, Check, Destroy:
	default:
		return fmt.Errorf("unknown mode %q", r.mode)
	}
	for name, value := range map[string]*string{
		EnvNamespace: &r.namespace, EnvPod: &r.pod, EnvPodUID: &r.podUID, EnvJob: &r.job, EnvJobUID: &r.jobUID,
	} {
		if *value = os.Getenv(name); *value == "" {
			return fmt.Errorf("%s isn't set", name)
		}
	}
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, secretVariable) {
			r.hidden = append(r.hidden, value)
		}
	}
	return nil
}

// connect connects to the API server as the service account of the Pod.
func (r *runner) connect() error {
	config, err := rest.InClusterConfig()
	r.inCluster = err == nil
	if errors.Is(err, rest.ErrNotInCluster) {
		config, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	}
	if err != nil {
		return err
	}
	core, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return err
	}
	coordination, err := typedcoordinationv1.NewForConfig(config)
	if err != nil {
		return err
	}
	r.leases, r.secrets, r.pods = coordination.Leases(r.namespace), core.Secrets(r.namespace), core.Pods(r.namespace)
	return nil
}
