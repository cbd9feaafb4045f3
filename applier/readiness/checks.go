package readiness

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/reference"
)

// deploymentAvailable asks for more than the condition: while new Pods replace
// old ones, a Deployment stays available by the old ones.
func deploymentAvailable(object *unstructured.Unstructured) Verdict {
	if c, ok := conditionOf(object, "Progressing"); ok && c.status == "False" && c.reason == "ProgressDeadlineExceeded" {
		return failed("its progress deadline is exceeded%s", replicasText(object))
	}
	if field(object.Object, "status", "observedGeneration") == nil {
		return progressing("the Deployment controller hasn't seen it yet")
	}
	want := number(object, 1, "spec", "replicas")
	if updated := number(object, 0, "status", "updatedReplicas"); updated < want {
		return progressing("%d of %s updated", updated, replicas(want))
	}
	if c, ok := conditionOf(object, "Available"); c.status != "True" {
		available := number(object, 0, "status", "availableReplicas")
		switch {
		case available < want:
			return progressing("%d of %s available", available, replicas(want))
		case !ok:
			return progressing("condition Available isn't set yet")
		}
		return progressing("%s", c)
	}
	if old := number(object, 0, "status", "replicas") - number(object, 0, "status", "updatedReplicas"); old > 0 {
		return progressing("%s of an older generation still there", replicas(old))
	}
	return Verdict{State: Ready}
}

func conditionMatch(kind, status string) check {
	if status == "" {
		status = "True"
	}
	return func(object *unstructured.Unstructured) Verdict {
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
	}
}

// loadBalancerReady also fits what has a status like that of a Service, such as
// an Ingress.
func loadBalancerReady(object *unstructured.Unstructured) Verdict {
	if object.GetKind() == "Service" && object.GetAPIVersion() == "v1" {
		if kind, _ := field(object.Object, "spec", "type").(string); kind != "LoadBalancer" {
			if kind == "" {
				kind = "ClusterIP"
			}
			return failed("is a Service of type %s, which gets no load balancer", kind)
		}
	}
	ingress, _ := field(object.Object, "status", "loadBalancer", "ingress").([]any)
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
	if field(object.Object, "status", "startTime") == nil {
		return progressing("hasn't started yet")
	}
	want := number(object, number(object, 1, "spec", "parallelism"), "spec", "completions")
	text := "%d of %d completed, %d running"
	if n := number(object, 0, "status", "failed"); n > 0 {
		return progressing(text+", %d failed", number(object, 0, "status", "succeeded"), want, number(object, 0, "status", "active"), n)
	}
	return progressing(text, number(object, 0, "status", "succeeded"), want, number(object, 0, "status", "active"))
}

func expression(e *reference.Expression) (check, error) {
	program, err := e.Plan()
	if err != nil {
		return nil, err
	}
	text := strings.Join(strings.Fields(e.String()), " ")
	return func(object *unstructured.Unstructured) Verdict {
		value, err := program.Eval(object.Object)
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
