package readiness

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/jsonvalue"
)

// check evaluates an object that exists, isn't being deleted, and whose status
// isn't stale. It adds its cost, in CEL's units, to spent.
type check func(object *unstructured.Unstructured, spent *uint64) Verdict

// compiler returns the check for an entry of readyWhen. expr is the compiled
// expression of the entry, nil if it has none. An error begins with the field of
// the entry that it is about.
type compiler func(spec v1alpha1.ReadyCheck, expr *reference.Expression) (check, error)

// checks has the compiler of every type of check. It is never changed.
var checks = map[v1alpha1.ReadyType]compiler{
	v1alpha1.ReadyExists:              withoutParameters(exists),
	v1alpha1.ReadyDeploymentAvailable: withoutParameters(deploymentAvailable),
	v1alpha1.ReadyConditionMatch:      conditionMatch,
	v1alpha1.ReadyLoadBalancer:        withoutParameters(loadBalancerReady),
	v1alpha1.ReadyJobComplete:         withoutParameters(jobComplete),
	v1alpha1.ReadyExpression:          expression,
}

// withoutParameters returns the compiler of a check that has no parameters.
func withoutParameters(evaluate func(*unstructured.Unstructured) Verdict) compiler {
	return func(v1alpha1.ReadyCheck, *reference.Expression) (check, error) {
		return func(object *unstructured.Unstructured, _ *uint64) Verdict { return evaluate(object) }, nil
	}
}

// exists passes for every object: a check is only evaluated if the object exists.
func exists(*unstructured.Unstructured) Verdict { return Verdict{State: Ready} }

// deploymentAvailable passes when all replicas of the current generation are
// available. The condition Available alone isn't enough: during a rolling update
// the old Pods keep it true.
func deploymentAvailable(object *unstructured.Unstructured) Verdict {
	if c, ok := conditionOf(object, "Progressing"); ok && c.status == "False" && c.reason == "ProgressDeadlineExceeded" {
		return failed("its progress deadline is exceeded%s", availableText(object))
	}
	if jsonvalue.Field(object.Object, "status", "observedGeneration") == nil {
		return progressing("the Deployment controller hasn't seen it yet")
	}
	want := intField(object, 1, "spec", "replicas")
	if updated := intField(object, 0, "status", "updatedReplicas"); updated < want {
		return progressing("%d of %s updated", updated, replicasText(want))
	}
	if c, ok := conditionOf(object, "Available"); c.status != "True" {
		available := intField(object, 0, "status", "availableReplicas")
		switch {
		case available < want:
			return progressing("%d of %s available", available, replicasText(want))
		case !ok:
			return progressing("condition Available isn't set yet")
		}
		return progressing("%s", c)
	}
	if old := intField(object, 0, "status", "replicas") - intField(object, 0, "status", "updatedReplicas"); old > 0 {
		return progressing("%s of an older generation still there", replicasText(old))
	}
	return Verdict{State: Ready}
}

// conditionMatch passes when a condition has the wanted status, which is True if
// spec has none.
func conditionMatch(spec v1alpha1.ReadyCheck, _ *reference.Expression) (check, error) {
	kind, status := spec.ConditionType, spec.ConditionStatus
	if status == "" {
		status = "True"
	}
	return func(object *unstructured.Unstructured, _ *uint64) Verdict {
		switch c, ok := conditionOf(object, kind); {
		case !ok:
			return progressing("condition %s isn't set yet", kind)
		case c.stale:
			return progressing("condition %s is of an older generation", kind)
		case c.status != status && status != "True":
			return progressing("%s, not %s", condition{kind: kind, status: c.status}, status)
		case c.status != status:
			return progressing("%s", c)
		}
		return Verdict{State: Ready}
	}, nil
}

// loadBalancerReady passes when a Service has an address of a load balancer. It
// also works for kinds whose status has the same form, such as Ingress.
func loadBalancerReady(object *unstructured.Unstructured) Verdict {
	if object.GetKind() == "Service" && object.GetAPIVersion() == "v1" {
		if kind, _ := jsonvalue.Field(object.Object, "spec", "type").(string); kind != "LoadBalancer" {
			if kind == "" {
				kind = "ClusterIP"
			}
			return failed("is a Service of type %s, which gets no load balancer", kind)
		}
	}
	ingress, _ := jsonvalue.Field(object.Object, "status", "loadBalancer", "ingress").([]any)
	for _, entry := range ingress {
		m, _ := entry.(map[string]any)
		ip, _ := m["ip"].(string)
		hostname, _ := m["hostname"].(string)
		if ip != "" || hostname != "" {
			return Verdict{State: Ready}
		}
	}
	return progressing("waits for the address of a load balancer")
}

// jobComplete passes when a Job has completed, and fails when it has failed for
// good. A Job sets FailureTarget before its Pods have ended and Failed afterwards.
func jobComplete(object *unstructured.Unstructured) Verdict {
	if c, _ := conditionOf(object, "Complete"); c.status == "True" {
		return Verdict{State: Ready}
	}
	for _, kind := range []string{"Failed", "FailureTarget"} {
		if c, _ := conditionOf(object, kind); c.status == "True" {
			return failed("the Job failed%s", c.because())
		}
	}
	if c, _ := conditionOf(object, "Suspended"); c.status == "True" {
		return progressing("is suspended")
	}
	if jsonvalue.Field(object.Object, "status", "startTime") == nil {
		return progressing("hasn't started yet")
	}
	// A Job without completions needs as many as it has parallel Pods.
	want := intField(object, intField(object, 1, "spec", "parallelism"), "spec", "completions")
	text := fmt.Sprintf("%d of %d completed, %d running", intField(object, 0, "status", "succeeded"), want, intField(object, 0, "status", "active"))
	if n := intField(object, 0, "status", "failed"); n > 0 {
		text += fmt.Sprintf(", %d failed", n)
	}
	return progressing("%s", text)
}

// JobCompleted reports whether a Job has completed.
func JobCompleted(job *unstructured.Unstructured) bool {
	c, _ := conditionOf(job, "Complete")
	return c.status == "True"
}

// expression passes when a CEL expression over the object is true. While the
// expression reads a field that doesn't exist yet, the object is progressing.
//
// The data of a Secret can't be read: otherwise the readiness of the node would
// answer questions about it. The message of an error may quote the object, so it
// isn't shown for a Secret.
func expression(_ v1alpha1.ReadyCheck, expr *reference.Expression) (check, error) {
	if expr == nil {
		return nil, errors.New("expr: doesn't compile")
	}
	text := strings.Join(strings.Fields(expr.String()), " ")
	return func(object *unstructured.Unstructured, spent *uint64) Verdict {
		seen := object.Object
		if graph.IsSecret(seen) {
			seen = graph.SecretView(seen, nil, "values of Secrets can't be read in readyWhen")
		}
		// The program isn't kept: it takes much more memory than the text.
		program, err := expr.Plan()
		if err != nil {
			return failed("%v (in %s)", err, text)
		}
		value, cost, err := program.Measure(seen)
		*spent += cost + expr.CompileCost() // its program may have been dropped
		var missing *reference.Missing
		switch {
		case errors.As(err, &missing) && !graph.IsSecret(object.Object):
			return progressing("%v", missing)
		case errors.As(err, &missing):
			return progressing("waits for what %s reads", text)
		case err != nil && graph.IsSecret(object.Object):
			return failed("%s can't be evaluated; the cause isn't shown because it may quote the Secret", text)
		case err != nil:
			return failed("%v (in %s)", err, text)
		case value == false:
			return progressing("%s is false", text)
		case value != true:
			return failed("%s yields neither true nor false", text)
		}
		return Verdict{State: Ready}
	}, nil
}
