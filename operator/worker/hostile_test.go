package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/confine"
	"github.com/pequod-io/pequod/operator/worker"
	"github.com/pequod-io/pequod/operator/worker/child"
	"github.com/pequod-io/pequod/operator/worker/protocol"
)

// hostile is a module that exceeds a limit if an instance asks for it. Samples of the module
// don't, but for the recursion of its ports: they know equality only.
const hostile = `
package m

import ("list", "strings")

#Platform: kind: "Shop"
#Input: {mode: *"fine" | string, n: *1 | int, ports?: [string]: number: int & !=ports}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	_size: int
	if strings.HasPrefix(input.spec.mode, "fine") {
		_size: input.spec.n
	}
	if strings.HasPrefix(input.spec.mode, "time") {
		_size: len([for x in list.Range(0, 100000, 1) for y in list.Range(0, 100000, 1) {x * y}])
	}
	if strings.HasPrefix(input.spec.mode, "memory") {
		_a: strings.Repeat("x", 100000)
		_b: strings.Repeat(_a, 100)
		_c: strings.Repeat(_b, 100)
		_d: strings.Repeat(_c, 10)
		_size: len(_d)
	}
	output: nodes: c: resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: input.metadata.name, data: n: "\(_size)"}
}
`

func inlined(source string) v1alpha1.TransformSpec {
	return v1alpha1.TransformSpec{CueRef: v1alpha1.CueRef{Type: v1alpha1.CueRefInline, Ref: source}}
}

// shop returns an instance of the module hostile.
func shop(name, mode string) *unstructured.Unstructured {
	spec := map[string]any{"mode": mode}
	if mode == "recursion" {
		spec = map[string]any{"ports": map[string]any{"a": map[string]any{"number": int64(1)}}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pequod.io/v1alpha1", "kind": "Shop", "metadata": map[string]any{"name": name, "namespace": "default"}, "spec": spec,
	}}
}

// fine renders an instance that exceeds no limit, and compares its graph.
func fine(ctx context.Context, p *worker.Pool, key worker.Key, n int) error {
	in := shop(fmt.Sprintf("shop-%d", n), "fine")
	in.Object["spec"].(map[string]any)["n"] = int64(n)
	r, err := p.Render(ctx, key, in, "default")
	switch {
	case err != nil:
		return err
	case r.Graph == nil:
		return fmt.Errorf("no graph: %w", r.Problems)
	}
	want := fmt.Sprintf(`{"apiVersion":"v1","data":{"n":"%[1]d"},"kind":"ConfigMap","metadata":{"name":"shop-%[1]d"}}`, n)
	if got := string(r.Graph.Spec.Graph.Nodes[0].Resource.Raw); got != want {
		return fmt.Errorf("%w: %s", errWrong, got)
	}
	return nil
}

var errWrong = errors.New("wrong answer")

// TestRunaway checks that platforms that exceed their limits don't keep another one from
// rendering, although only one evaluation may happen at a time.
func TestRunaway(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: time.Hour, Memory: 700 << 20, Evaluations: 1, Backoff: time.Millisecond})
	good, _ := load(t, pool, "good", inlined(hostile))
	endless, _ := load(t, pool, "endless", inlined(hostile))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if r, err := pool.Render(ctx, endless, shop("a", "time"), "default"); !errors.Is(err, context.Canceled) {
			t.Errorf("an endless evaluation: %v, %v", r, err)
		}
	})
	for mode, limit := range map[string]worker.Limit{"memory": worker.LimitMemory, "recursion": worker.LimitDepth} {
		key, _ := load(t, pool, mode, inlined(hostile))
		running.Go(func() {
			for range 3 {
				_, err := pool.Render(t.Context(), key, shop("a", mode), "default")
				var exceeded *worker.LimitError
				if !errors.As(err, &exceeded) || exceeded.Limit != limit || exceeded.Platform != "pequod-system/"+mode {
					t.Errorf("%s: %v", mode, err)
				}
			}
			// The platform can be used again, and its other instances are rendered.
			if err := fine(t.Context(), pool, key, 5); err != nil {
				t.Errorf("%s: after it exceeded its limit: %v", mode, err)
			}
		})
	}
	for n := range 200 {
		if err := fine(t.Context(), pool, good, n); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	running.Wait()
}

// TestRunawaySamples checks that a platform can be used although its samples exceed a limit, which is an
// error of its own.
func TestRunawaySamples(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: 5 * time.Second, Grace: time.Hour, Backoff: time.Millisecond})
	source := strings.Replace(hostile, `strings.HasPrefix(input.spec.mode, "time")`, `input.spec.mode == "time"`, 1)
	key, data := sources(t, "shop", inlined(source))
	if _, err := pool.Load(t.Context(), key, data); err != nil {
		t.Fatal(err)
	}
	_, err := pool.Sample(t.Context(), key, data)
	var limit *worker.LimitError
	if !errors.As(err, &limit) || limit.Limit != worker.LimitTime || !strings.Contains(err.Error(), "evaluation took longer than 5s of CPU time") {
		t.Errorf("got %v", err)
	}
	if err := fine(t.Context(), pool, key, 1); err != nil {
		t.Error(err)
	}
}

// TestStopped checks that the time in which a process gets no processor does not count, but for a limit
// of the clock. A process that is stopped can't report that, so the pool ends it.
func TestStopped(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: 2 * time.Second, Clock: time.Hour, Backoff: time.Millisecond})
	key, _ := load(t, pool, "shop", inlined(hostile))
	suspend := func(signal syscall.Signal) {
		for _, id := range pool.IDs() {
			if err := syscall.Kill(id, signal); err != nil {
				t.Fatal(err)
			}
		}
	}
	began, answer := time.Now(), make(chan error, 1)
	go func() {
		_, err := pool.Render(t.Context(), key, shop("a", "time"), "default")
		answer <- err
	}()
	time.Sleep(300 * time.Millisecond)
	suspend(syscall.SIGSTOP)
	used := time.Since(began)
	time.Sleep(3 * time.Second) // more than Timeout
	suspend(syscall.SIGCONT)
	resumed := time.Now()
	err := <-answer
	if want := "platform pequod-system/shop: evaluation took longer than 2s of CPU time"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	// A process has two processors.
	if used += time.Since(resumed); 2*used < 2*time.Second {
		t.Errorf("the evaluation had the time of processors for %v only", used)
	}

	hurried := newPool(t, "worker", worker.Options{Timeout: time.Second, Clock: 2 * time.Second, Grace: time.Second, Backoff: time.Millisecond})
	key, data := sources(t, "shop", inlined(hostile))
	if _, err := hurried.Load(t.Context(), key, data); err != nil {
		t.Skip("the machine is too busy:", err)
	}
	pool = hurried
	suspend(syscall.SIGSTOP)
	for _, id := range pool.IDs() {
		stopped(t, id)
	}
	_, err = pool.Render(t.Context(), key, shop("a", "fine"), "default")
	var limit *worker.LimitError
	if !errors.As(err, &limit) || limit.Limit != worker.LimitTime {
		t.Errorf("a process that is stopped: %v", err)
	}
}

// TestNobodyWaits checks that an evaluation for a webhook ends after 30 seconds, the longest time for which an API
// server waits for a webhook.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	pool := newPool(t, "worker", worker.Options{Timeout: time.Hour})
	key, _ := load(t, pool, "shop", inlined(hostile))
	for _, id := range pool.IDs() {
		if err := syscall.Kill(id, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		stopped(t, id)
	}
	_, err := pool.Validate(t.Context(), key, shop("a", "fine"), "default")
	if want := "platform pequod-system/shop: no answer after 30s"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// stopped waits until a signal has stopped a process: on a busy machine its threads go on meanwhile.
func stopped(t *testing.T, pid int) {
	t.Helper()
	for {
		threads, err := procfs.AllThreads(pid)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(threads, func(thread procfs.Proc) bool {
			stat, err := thread.Stat()
			return err == nil && stat.State != "T"
		}) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestTimeout checks the deadline of an evaluation.
func TestTimeout(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: 3 * time.Second, Grace: time.Hour})
	key, _ := load(t, pool, "endless", inlined(hostile))
	_, err := pool.Render(t.Context(), key, shop("a", "time"), "default")
	if want := "platform pequod-system/endless: evaluation took longer than 3s of CPU time"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestKilled kills processes at random moments of at least 200 renderings. Each rendering must
// have the right answer or an error.
func TestKilled(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: time.Minute, Backoff: time.Millisecond})
	var keys []worker.Key
	for n := range 4 {
		key, _ := load(t, pool, fmt.Sprintf("shop-%d", n), inlined(hostile))
		keys = append(keys, key)
	}
	ends := make(chan struct{})
	var killer sync.WaitGroup
	var kills atomic.Int32
	killer.Go(func() {
		for {
			select {
			case <-ends:
				return
			case <-time.After(time.Duration(rand.IntN(100)) * time.Millisecond):
			}
			if ids := pool.IDs(); len(ids) > 0 {
				_ = syscall.Kill(ids[rand.IntN(len(ids))], syscall.SIGKILL)
				kills.Add(1)
			}
		}
	})
	var callers sync.WaitGroup
	var renderings, failed atomic.Int32
	for c := range 8 {
		callers.Go(func() {
			for n := 0; n < 25 || kills.Load() < 50; n++ {
				renderings.Add(1)
				err := fine(t.Context(), pool, keys[(c+n)%len(keys)], n)
				if errors.Is(err, errWrong) || errors.Is(err, worker.ErrNotLoaded) {
					t.Error(err)
				} else if err != nil {
					failed.Add(1)
				}
			}
		})
	}
	callers.Wait()
	close(ends)
	killer.Wait()
	for _, key := range keys {
		// The process may have been killed after its last answer, which is found out by the next.
		if err := fine(t.Context(), pool, key, 1); err != nil {
			if err := fine(t.Context(), pool, key, 1); err != nil {
				t.Error(err)
			}
		}
	}
	t.Logf("%d kills, %d of %d renderings failed", kills.Load(), failed.Load(), renderings.Load())
}

func init() {
	children["silent"] = func() int {
		for { // without cgo, the runtime ends a program whose goroutines all block for ever
			time.Sleep(time.Hour)
		}
	}
	children["garbage"] = func() int {
		go discard()
		buffer := make([]byte, 1<<16)
		source := rand.NewChaCha8([32]byte{})
		for {
			_, _ = source.Read(buffer)
			if _, err := os.Stdout.Write(buffer); err != nil {
				return 1
			}
		}
	}
	children["text"] = func() int { return answer("hello, this is no JSON") }
	children["other"] = func() int { return answer(`{"id": 7}`) }
	children["empty"] = func() int {
		for n := 1; ; n++ {
			_, _ = protocol.ReadFrame(os.Stdin, protocol.MaxSources)
			if n != 2 { // the sources
				_ = protocol.WriteFrame(os.Stdout, fmt.Appendf(nil, `{"id": %d}`, max(1, n-1)))
			}
		}
	}
	children["exits"] = func() int {
		fmt.Fprintln(os.Stderr, "fatal error: no luck")
		fmt.Fprintln(os.Stderr, strings.Repeat("trace\n", 100_000))
		return 3
	}
	children["huge"] = func() int {
		go discard()
		_, _ = os.Stdout.Write([]byte{255, 255, 255, 255})
		_, _ = io.Copy(os.Stdout, zeros{})
		return 0
	}
	children["loud"] = func() int {
		go func() { _, _ = io.Copy(os.Stderr, zeros{}) }()
		return child.Serve(os.Stdin, os.Stdout)
	}
	children["escapes"] = func() int {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 2
		}
		waits, _ := io.Pipe()
		go child.Serve(waits, io.Discard)
		possible := "all"
		for end := time.Now().Add(10 * time.Second); possible != "" && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			possible = ""
			if _, err := os.ReadFile("/proc/self/status"); err == nil {
				possible += "read "
			}
			if exec.Command(os.Args[0], "-test.list=nothing").Run() == nil {
				possible += "run "
			}
			if c, err := net.Dial("tcp", listener.Addr().String()); err == nil {
				c.Close()
				possible += "connect "
			}
		}
		fmt.Fprintf(os.Stderr, "possible: %q\n", possible)
		return 1
	}
	children["inspect"] = func() int {
		// Those of the Go runtime are left out, which it has opened in the process itself.
		files, _ := os.ReadDir("/proc/self/fd")
		open := ""
		for _, f := range files {
			if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "/proc/") && !strings.HasPrefix(to, "/sys/fs/cgroup/") {
				kind, _, _ := strings.Cut(to, ":")
				open += f.Name() + "=" + kind + " "
			}
		}
		group, _ := syscall.Getpgid(0)
		fmt.Fprintf(os.Stderr, "environment %q, files %s, leads its group: %t\n", os.Environ(), open, group == os.Getpid())
		return 1
	}
}

// answer answers the first request.
func answer(text string) int {
	if _, err := protocol.ReadFrame(os.Stdin, protocol.MaxRequest); err != nil {
		return 1
	}
	go discard()
	_ = protocol.WriteFrame(os.Stdout, []byte(text))
	select {}
}

// discard reads all requests.
func discard() { _, _ = io.Copy(io.Discard, os.Stdin) }

// zeros is an endless text.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = "0\n"[i%2]
	}
	return len(b), nil
}

// TestBrokenProcess checks that no process can make the pool hang or believe a wrong answer.
func TestBrokenProcess(t *testing.T) {
	for program, want := range map[string]string{
		"silent":  "no answer after 2s",
		"garbage": "is longer than",
		"text":    "reading its answer: ",
		"other":   "it answered request 7, not 1",
		"empty":   "an answer without a CRD",
		"exits":   "evaluation process ended: exit status 3: fatal error: no luck",
		"huge":    "a message of 4294967295 bytes is longer than",
		"escapes": `possible: ""`,
		"inspect": `environment ["GOMAXPROCS=2" "GOMEMLIMIT=805306368"], files 0=pipe 1=pipe 2=pipe , leads its group: true`,
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if missing := confine.Missing(); program == "escapes" && missing != "" {
				t.Skip("the kernel can't limit " + missing)
			}
			pool := newPool(t, program, worker.Options{Timeout: time.Second, Clock: time.Second, Grace: time.Second})
			// More than a pipe holds, so that writing blocks if the process doesn't read.
			key, data := sources(t, "shop", inlined(hostile+strings.Repeat("// nothing\n", 50_000)))
			_, err := pool.Load(t.Context(), key, data)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "platform pequod-system/shop: ") {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// TestLoudProcess checks that what a process prints neither blocks it nor fills the log.
func TestLoudProcess(t *testing.T) {
	var lines atomic.Int32
	log := funcr.New(func(string, string) { lines.Add(1) }, funcr.Options{})
	pool := newPool(t, "loud", worker.Options{Timeout: time.Minute, Log: log})
	key, _ := load(t, pool, "loud", inlined(hostile))
	for n := range 10 {
		if err := fine(t.Context(), pool, key, n); err != nil {
			t.Fatal(err)
		}
	}
	if n := lines.Load(); n != 100 {
		t.Errorf("%d lines are logged", n)
	}
}

// TestProgramKilled kills the program with SIGKILL while its processes evaluate. None may be
// left, even if it does not notice that its input has ended.
func TestProgramKilled(t *testing.T) {
	for _, program := range []string{"worker", "silent"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "program", program)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var id int
			if _, err := fmt.Fscan(out, &id); err != nil || id == 0 {
				t.Fatalf("process %d: %v", id, err)
			}
			if !exists(id) {
				t.Fatal("there is no process")
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			for end := time.Now().Add(time.Minute); exists(id); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("process %d is still there", id)
				}
			}
		})
	}
}

// exists reports whether a process exists that has not ended.
func exists(id int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func init() {
	// program is a program with a pool. It prints the process id of the first process and
	// never ends.
	children["program"] = func() int {
		dir, err := os.MkdirTemp("", "pequod-worker-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		pool, err := worker.New(worker.Options{Dir: dir, Command: []string{os.Args[0], os.Args[2]}, Timeout: time.Hour})
		if err != nil {
			panic(err)
		}
		key, data := encode("shop", inlined(hostile))
		go func() {
			_, _ = pool.Load(context.Background(), key, data)
			_, _ = pool.Render(context.Background(), key, shop("a", "time"), "default")
		}()
		for {
			if ids := pool.IDs(); len(ids) > 0 {
				fmt.Println(ids[0])
				select {}
			}
			time.Sleep(time.Millisecond)
		}
	}
}
