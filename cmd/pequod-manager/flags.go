package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/cmd/internal/incluster"
	"github.com/pequod-io/pequod/operator/fetch"
)

// name is the name of the program.
const name = "pequod-manager"

// options has the values of the flags that only this program has.
type options struct {
	// namespace is the namespace of the manager: of its Transforms, unless
	// transformNamespaces names others, and of their service accounts.
	namespace string
	// transformNamespaces are the namespaces whose Transforms are used; "*" means all. Empty
	// means the namespace of the manager.
	transformNamespaces []string
	flags               *pflag.FlagSet
	// execute is set if the manager executes the graphs that it renders.
	execute bool
	// policies are references to policies that check the instances of all platforms, and
	// policySecret is the Secret with credentials for them, or "".
	policies     []string
	policySecret string
	evaluation   evaluation
	// failurePolicy decides about instances that no replica could check.
	failurePolicy string
	artifacts     artifacts
}

// evaluation has the limits of evaluations.
type evaluation struct {
	timeout   time.Duration
	memory    int // MiB
	processes int
	// budget is the memory for all processes together, in bytes; 0 means no limit.
	budget uint64
}

// memoryLimit is the variable with the memory limit of the container, in bytes.
const memoryLimit = "PEQUOD_MEMORY_LIMIT"

// fit sets the budget to the memory limit of the container, in bytes, less the bytes that this process
// uses itself. It lowers the limit of one evaluation to the budget.
func (e *evaluation) fit(limit string, own int64) error {
	if limit == "" {
		return nil
	}
	total, err := strconv.ParseInt(limit, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %q is not a number of bytes", memoryLimit, limit)
	}
	if own >= total { // GOMEMLIMIT isn't set
		own = total / 4
	}
	const least = leastEvaluation << 20
	if total-own < least {
		return fmt.Errorf("the memory limit of the container is %d MiB, of which GOMEMLIMIT reserves %d for this process: evaluations need at least %d; raise the limit of the Deployment",
			total>>20, own>>20, leastEvaluation)
	}
	e.budget = uint64(total - own)
	e.memory = min(e.memory, int(e.budget>>20))
	return nil
}

// leastEvaluation is the least memory of an evaluation, in MiB.
const leastEvaluation = 64

// program returns the program, whose flags set o.
func (o *options) program() incluster.Program {
	return incluster.Program{
		Name: name, About: "Generate kinds from Transforms, and execute their instances in the cluster.",
		AddFlags: o.addFlags, Check: o.check, Serve: o.serve,
	}
}

// addFlags adds the flags, which set o to their defaults.
func (o *options) addFlags(fs *pflag.FlagSet, _ *incluster.Settings) {
	o.flags = fs
	fs.StringVar(&o.namespace, "manager-namespace", "",
		"namespace of the service accounts of Transforms; default: the namespace of the Pod, else "+incluster.DefaultNamespace)
	fs.StringSliceVar(&o.transformNamespaces, "transform-namespaces", nil,
		"namespaces whose Transforms are used, or '*' for all: whoever writes a Transform defines a kind of the whole cluster; default: the namespace of the manager")
	fs.BoolVar(&o.execute, "execute", true,
		"execute the graphs of instances; if false, pequod-applier executes them, as accounts of their namespaces")
	fs.StringArrayVar(&o.policies, "policy", nil,
		"policy module that checks the instances of all platforms: a directory, embedded:NAME, oci://REFERENCE, git::URL or configmap:NAMESPACE/NAME; can be repeated")
	fs.StringVar(&o.policySecret, "policy-pull-secret", "", "Secret in the namespace of the manager with credentials for --policy")
	fs.StringVar(&o.failurePolicy, "webhook-failure-policy", string(admissionregistrationv1.Ignore),
		"what the API server does with an instance that the webhook can't check: Ignore accepts it, because it is checked again before it is rendered, and Fail refuses it")
	o.artifacts.addFlags(fs)
	fs.DurationVar(&o.evaluation.timeout, "eval-timeout", 10*time.Second, "limit of the CPU time for evaluating one instance or module; by the clock it is ten times as long")
	fs.IntVar(&o.evaluation.memory, "eval-memory", 512, "memory limit of each process that evaluates, in MiB; fewer evaluate at a time if the memory limit of the container, $"+memoryLimit+", is smaller than that of all")
	fs.IntVar(&o.evaluation.processes, "eval-processes", 64, "maximum number of processes that evaluate; each Transform in use has one, and two if its queue is long")
}

// check checks the values that can be wrong without a cluster, and sets the namespace.
func (o *options) check() error {
	if o.namespace == "" {
		o.namespace = incluster.PodNamespace()
	}
	if len(validation.IsDNS1123Label(o.namespace)) > 0 {
		return fmt.Errorf("--manager-namespace: %q is not the name of a namespace", o.namespace)
	}
	for _, namespace := range o.transformNamespaces {
		if namespace != "*" && len(validation.IsDNS1123Label(namespace)) > 0 {
			return fmt.Errorf("--transform-namespaces: %q is not the name of a namespace", namespace)
		}
	}
	for _, flag := range []string{"watch-label-selector", "concurrent", "resync", "relist", "prune-grace", "no-cross-namespace"} {
		if !o.execute && o.flags.Changed(flag) {
			return fmt.Errorf("--%s: it is for the execution of graphs; set it for pequod-applier, which executes them with --execute=false", flag)
		}
	}
	if err := (fetch.Organization{Policies: o.policies}).Check(); err != nil {
		return fmt.Errorf("--policy: %w", err)
	}
	switch {
	case o.policySecret != "" && len(validation.IsDNS1123Subdomain(o.policySecret)) > 0:
		return fmt.Errorf("--policy-pull-secret: %q is not the name of a Secret", o.policySecret)
	case o.failurePolicy != string(admissionregistrationv1.Ignore) && o.failurePolicy != string(admissionregistrationv1.Fail):
		return fmt.Errorf("--webhook-failure-policy: %q is neither Ignore nor Fail", o.failurePolicy)
	case o.evaluation.timeout <= 0:
		return fmt.Errorf("--eval-timeout: must be more than 0, not %s", o.evaluation.timeout)
	case o.evaluation.memory < leastEvaluation:
		return fmt.Errorf("--eval-memory: must be at least %d, not %d", leastEvaluation, o.evaluation.memory)
	case o.evaluation.processes < 1:
		return fmt.Errorf("--eval-processes: must be at least 1, not %d", o.evaluation.processes)
	}
	if err := o.evaluation.fit(os.Getenv(memoryLimit), debug.SetMemoryLimit(-1)); err != nil {
		return err
	}
	return o.artifacts.check(o.namespace)
}
