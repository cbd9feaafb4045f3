package kubelet

import (
	"context"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// RunFrom is the annotation of a Pod whose containers run as local processes of the user who runs
// the cluster. Its value is a directory: the program of a container is the file in it that has
// the base name of the container's first command word.
const RunFrom = "testcluster.pequod.io/run-from"

// exitKilled is the exit code of a container that was killed.
const exitKilled = 137

// processes runs the containers of Pods as local processes.
type processes struct {
	client kubernetes.Interface
	// server is the access to the API server that processes get with their own token.
	server Server
	wake   func(key string)

	mu sync.Mutex
	of map[types.UID]*podProcesses
}

// Server is where processes find the API server.
type Server struct{ URL, CAFile string }

func newProcesses(client kubernetes.Interface, server Server, wake func(string)) *processes {
	return &processes{client: client, server: server, wake: wake, of: map[types.UID]*podProcesses{}}
}

// podProcesses are the processes of one Pod.
type podProcesses struct {
	client kubernetes.Interface
	server Server
	pod    *corev1.Pod
	dir    string
	wake   func()
	// stop ends the processes: with SIGTERM, and with SIGKILL after the grace period.
	stop context.CancelFunc
	done chan struct{}

	mu          sync.Mutex
	grace       time.Duration
	problem     string // why the next container can't be created
	initialized bool
	expired     bool // the active deadline has passed
	states      map[string]corev1.ContainerState
}

// known returns the processes of a Pod, or nil.
func (p *processes) known(uid types.UID) *podProcesses {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of[uid]
}

// start starts the processes of a Pod.
func (p *processes) start(pod *corev1.Pod) (*podProcesses, error) {
	dir, err := os.MkdirTemp("", "testcluster-pod-")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	if seconds := pod.Spec.ActiveDeadlineSeconds; seconds != nil {
		ctx, stop = context.WithTimeout(ctx, time.Duration(*seconds)*time.Second)
	}
	key := pod.Namespace + "/" + pod.Name
	run := &podProcesses{
		client: p.client, server: p.server, pod: pod.DeepCopy(), dir: dir, wake: func() { p.wake(key) },
		stop: stop, done: make(chan struct{}), states: map[string]corev1.ContainerState{},
		grace: time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second,
	}
	p.mu.Lock()
	p.of[pod.UID] = run
	p.mu.Unlock()
	go func() {
		defer run.wake()
		defer close(run.done)
		run.all(ctx)
	}()
	return run, nil
}

// forget removes the files of a Pod that no longer exists, after its processes have ended.
func (p *processes) forget(uid types.UID) {
	p.mu.Lock()
	run := p.of[uid]
	delete(p.of, uid)
	p.mu.Unlock()
	if run != nil {
		run.kill()
		go func() {
			<-run.done
			_ = os.RemoveAll(run.dir) // it is in the temporary directory
		}()
	}
}

// close kills all processes.
func (p *processes) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, run := range p.of {
		run.kill()
		<-run.done
		_ = os.RemoveAll(run.dir) // it is in the temporary directory
	}
}

// kill ends the processes without a grace period.
func (r *podProcesses) kill() {
	r.mu.Lock()
	r.grace = 0
	r.mu.Unlock()
	r.stop()
}

// status returns the status of a Pod by its processes. Those of a Pod that a kubelet before this
// one ran are gone.
func (r *podProcesses) status(pod *corev1.Pod, ip string, start, now time.Time) corev1.PodStatus {
	c := cast{initialized: true}
	if r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		c.initialized = r.initialized
	}
	for i := range pod.Spec.InitContainers {
		c.inits = append(c.inits, r.container(&pod.Spec.InitContainers[i], pod))
	}
	for i := range pod.Spec.Containers {
		c.apps = append(c.apps, r.container(&pod.Spec.Containers[i], pod))
	}
	status := statusOf(pod, ip, start, now, c)
	if r != nil && r.expired && status.Phase == corev1.PodFailed {
		status.Reason, status.Message = "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
	}
	return status
}

// container returns the status of a container.
func (r *podProcesses) container(c *corev1.Container, pod *corev1.Pod) corev1.ContainerStatus {
	state := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exitKilled, Reason: "ContainerStatusUnknown", Message: "the node was restarted"}}
	if r != nil {
		known, begun := r.states[c.Name]
		switch {
		case !begun && r.problem != "":
			return waiting(c, configError, r.problem)
		case !begun:
			return waiting(c, "PodInitializing", "")
		}
		state = known
	}
	started := state.Running != nil
	return corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: "fake://" + c.Image, ContainerID: "process://" + string(pod.UID) + "/" + c.Name,
		State: state, Started: &started, Ready: started,
	}
}

// sync does for a Pod with the annotation RunFrom what [pods.sync] does for others.
func (p *pods) syncProcesses(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	run := p.processes.known(pod.UID)
	if run == nil && pod.Status.StartTime == nil && pod.DeletionTimestamp == nil {
		var err error
		if run, err = p.processes.start(pod); err != nil {
			return 0, err
		}
	}
	if run != nil && pod.DeletionTimestamp != nil {
		if pod.DeletionGracePeriodSeconds != nil {
			run.mu.Lock()
			run.grace = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
			run.mu.Unlock()
		}
		run.stop()
	}
	if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		now := time.Now()
		status := run.status(pod, p.address(pod), p.seen.of(pod.UID, now), now)
		if !equality.Semantic.DeepEqual(status, pod.Status) {
			changed := pod.DeepCopy()
			changed.Status = status
			updated, err := p.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
			if err != nil {
				return 0, ignoreGone(err)
			}
			p.recordEvents(pod, status)
			pod = updated
		}
	}
	if pod.DeletionTimestamp == nil || run != nil && !run.ended() {
		return 0, nil // the processes wake it
	}
	return 0, p.remove(ctx, pod)
}

// ended reports whether all processes have ended.
func (r *podProcesses) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}
