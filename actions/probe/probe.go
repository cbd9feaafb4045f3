package probe

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/actions/verdict"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// AnyReady is the name of the target that stands for all Pods.
const AnyReady = "any-ready"

// maxAttempts is how many Pods are asked until one answers for all.
const maxAttempts = 3

// atOnce is how many Pods of one Monitor are read at once.
const atOnce = 10

// Prober reads targets. It is safe for concurrent use.
type Prober struct {
	// Pods sends requests to addresses of Pods, and Hosts to those of target.url.
	Pods, Hosts *egress.Client
	Accounts    *identity.Accounts
	Watches     *Watches

	limits limits
}

// Read reads all targets of a Monitor. An error means that the targets aren't known.
func (p *Prober) Read(ctx context.Context, m *v1alpha1.Monitor, timeout time.Duration) (verdict.Reading, error) {
	target := m.Spec.Target
	switch {
	case m.Spec.Probe.Object != nil:
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return verdict.Reading{Polls: []verdict.Poll{p.Watches.read(ctx, m)}}, nil
	case target == nil:
		return verdict.Reading{}, fmt.Errorf("spec.target is required")
	}
	p.Forget(types.NamespacedName{Namespace: m.Namespace, Name: m.Name}) // an older spec may have had an object
	header, secrets, err := p.headers(ctx, m)
	if err != nil {
		return verdict.Reading{}, err
	}
	r := reading{prober: p, m: m, timeout: timeout, header: header, secrets: secrets}
	switch {
	case target.Pods != nil:
		return r.pods(ctx, target.Pods)
	case target.Service != nil:
		return r.service(ctx, target.Service)
	}
	u, err := url.Parse(target.URL)
	if err != nil {
		return verdict.Reading{}, fmt.Errorf("spec.target.url is not valid")
	}
	data, err := r.ask(ctx, p.Hosts, strings.TrimSuffix(target.URL, "/"), u.Host)
	return verdict.Reading{Polls: []verdict.Poll{{Name: u.Host, Data: data, Err: err}}}, nil
}

// Forget ends the watch of a Monitor.
func (p *Prober) Forget(name types.NamespacedName) { p.Watches.Forget(name) }

// List returns the Pods of a Monitor's target by name: those that run.
func (p *Prober) List(ctx context.Context, m *v1alpha1.Monitor) ([]corev1.Pod, error) {
	client, err := p.core(m)
	if err != nil {
		return nil, err
	}
	switch target := m.Spec.Target; {
	case target != nil && target.Pods != nil:
		return running(ctx, client, m.Namespace, &target.Pods.Selector)
	case target != nil && target.Service != nil:
		service, err := client.Services(m.Namespace).Get(ctx, target.Service.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return running(ctx, client, m.Namespace, &metav1.LabelSelector{MatchLabels: service.Spec.Selector})
	}
	return nil, fmt.Errorf("the target has no Pods")
}

// core returns a client that acts as the account of a Monitor.
func (p *Prober) core(m *v1alpha1.Monitor) (*typedcorev1.CoreV1Client, error) {
	return typedcorev1.NewForConfigAndClient(p.Accounts.As(m.Namespace, m.Spec.ServiceAccountName))
}

// running returns the Pods of a selector that run and aren't deleted, by name.
func running(ctx context.Context, client *typedcorev1.CoreV1Client, namespace string, selector *metav1.LabelSelector) ([]corev1.Pod, error) {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, err
	}
	if s.Empty() || s.String() == labels.Nothing().String() {
		return nil, fmt.Errorf("an empty selector is refused")
	}
	// Version 0 is answered from the cache of the API server.
	list, err := client.Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: s.String(), ResourceVersion: "0"})
	if err != nil {
		return nil, fmt.Errorf("listing Pods: %w", err)
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil || p.Status.PodIP == ""
	})
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, nil
}

// Ready reports whether a Pod is ready.
func Ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// pods reads the Pods of a selector.
func (r *reading) pods(ctx context.Context, t *v1alpha1.MonitorPods) (verdict.Reading, error) {
	pods, err := r.prober.List(ctx, r.m)
	if err != nil {
		return verdict.Reading{}, err
	}
	port := func(*corev1.Pod) (int32, error) { return t.Port, nil }
	if t.Read == v1alpha1.MonitorAnyReady {
		return r.any(ctx, AnyReady, pods, t.Scheme, port), nil
	}
	polls := make([]verdict.Poll, min(len(pods), v1alpha1.MaxMonitorTargets))
	var group sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for i := range polls {
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			data, err := r.pod(ctx, &pods[i], t.Scheme, t.Port)
			polls[i] = verdict.Poll{Name: pods[i].Name, UID: string(pods[i].UID), Data: data, Err: err}
		})
	}
	group.Wait()
	return verdict.Reading{Polls: polls, Total: len(pods)}, nil
}

// service reads one ready Pod of a Service.
func (r *reading) service(ctx context.Context, t *v1alpha1.MonitorService) (verdict.Reading, error) {
	client, err := r.prober.core(r.m)
	if err != nil {
		return verdict.Reading{}, err
	}
	service, err := client.Services(r.m.Namespace).Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return verdict.Reading{}, fmt.Errorf("service %s: %w", t.Name, err)
	}
	if len(service.Spec.Selector) == 0 {
		return verdict.Reading{}, fmt.Errorf("service %s has no selector, so its endpoints may be anywhere", t.Name)
	}
	i := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == t.Port })
	if i < 0 {
		return verdict.Reading{}, fmt.Errorf("service %s has no port %d", t.Name, t.Port)
	}
	pods, err := running(ctx, client, r.m.Namespace, &metav1.LabelSelector{MatchLabels: service.Spec.Selector})
	if err != nil {
		return verdict.Reading{}, err
	}
	port := func(pod *corev1.Pod) (int32, error) { return targetPort(pod, service.Spec.Ports[i]) }
	return r.any(ctx, t.Name, pods, t.Scheme, port), nil
}

// targetPort returns the port of a Pod that a port of a Service stands for.
func targetPort(pod *corev1.Pod, p corev1.ServicePort) (int32, error) {
	if p.TargetPort.Type == intstr.Int {
		if p.TargetPort.IntVal == 0 {
			return p.Port, nil
		}
		return p.TargetPort.IntVal, nil
	}
	for _, c := range pod.Spec.Containers {
		for _, port := range c.Ports {
			if port.Name == p.TargetPort.StrVal {
				return port.ContainerPort, nil
			}
		}
	}
	return 0, fmt.Errorf("no port %s", p.TargetPort.StrVal)
}

// any reads one of the Pods that are ready, as a target with a name.
func (r *reading) any(ctx context.Context, name string, pods []corev1.Pod, scheme v1alpha1.MonitorScheme, port func(*corev1.Pod) (int32, error)) verdict.Reading {
	poll := verdict.Poll{Name: name, Err: fmt.Errorf("no Pod is ready")}
	attempts := 0
	for i := range pods {
		if !Ready(&pods[i]) || attempts == maxAttempts {
			continue
		}
		attempts++
		number, err := port(&pods[i])
		if err == nil {
			poll.Data, err = r.pod(ctx, &pods[i], scheme, number)
		}
		if err == nil {
			poll.Err = nil
			break
		}
		//lint:ignore ST1005 it begins with a kind
		poll.Err = fmt.Errorf("Pod %s: %w", pods[i].Name, err)
	}
	return verdict.Reading{Polls: []verdict.Poll{poll}}
}

// pod reads one Pod.
func (r *reading) pod(ctx context.Context, pod *corev1.Pod, scheme v1alpha1.MonitorScheme, port int32) (map[string]any, error) {
	if pod.Spec.HostNetwork {
		return nil, fmt.Errorf("is in the network of its node, which Monitors don't read")
	}
	host := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port)))
	base := "http://" + host
	if scheme == v1alpha1.MonitorHTTPS {
		base = "https://" + host
	}
	return r.ask(ctx, r.prober.Pods, base, host)
}
