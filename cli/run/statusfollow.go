package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/statusview"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/inventory"
)

// watchedObject is an Action, a Monitor or a Receiver that is watched. Until all goroutines have
// ended, only its own goroutine writes to it.
type watchedObject struct {
	key inventory.Key
	// seen is set once a state was shown, and gone if the object was deleted after that.
	seen, gone bool
	// verdict is that of kstatus on the last state.
	verdict readiness.Verdict
	// requestError is the error of the last request, nil if it succeeded.
	requestError error
}

// objectView displays the states of watched objects. Its methods are called concurrently, for
// different objects.
type objectView interface {
	// ShowObject displays the current state of an object.
	ShowObject(key inventory.Key, state statusview.Row)
	// GoneObject reports that an object that was shown no longer exists.
	GoneObject(inventory.Key)
	Err() error
}

// rewatch is the time before a watch that has failed is started again.
var rewatch = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 5, Cap: 15 * time.Second}

// follow shows the state of the object and then each change, until ctx ends, the object is
// deleted or, with untilReady, it is ready or can't become ready. An error before the first state
// ends it; after that, the watch is started again.
func (f *watchedObject) follow(ctx context.Context, client *cluster.Client, view objectView, warn func(string), untilReady bool) error {
	selection := cluster.Selection{GVK: v1alpha1.GroupVersion.WithKind(f.key.Kind), Namespace: f.key.Namespace, Name: f.key.Name}
	for backoff := rewatch; ; {
		more, broken := true, error(nil)
		err := client.ListAndWatch(ctx, selection, nil, func(ev cluster.Event) bool {
			backoff = rewatch // there is an answer
			f.requestError = nil
			more, broken = f.handle(ev, view, untilReady)
			return more && broken == nil
		})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case broken != nil:
			return objectError(f.key, broken)
		case !more:
			return nil
		case err != nil && !f.seen:
			return objectError(f.key, err)
		case err != nil:
			if err = objectError(f.key, err); f.requestError == nil || f.requestError.Error() != err.Error() {
				warn(source.Escape(err.Error(), "") + "; retrying")
			}
			f.requestError = err
		}
		select {
		case <-ctx.Done():
		case <-time.After(backoff.Step()):
		}
	}
}

// handle shows what an event has, and reports whether to go on.
func (f *watchedObject) handle(ev cluster.Event, view objectView, untilReady bool) (more bool, err error) {
	obj := ev.Object
	if ev.Listing != nil {
		obj = only(ev.Listing)
	}
	switch {
	case obj == nil && !f.seen:
		return false, errNoObject
	case obj == nil || ev.Deleted:
		f.gone = true
		view.GoneObject(f.key)
		return false, nil
	}
	state, err := statusview.NewRow(obj, true)
	if err != nil {
		return false, err
	}
	f.seen, f.verdict = true, readiness.Default.Evaluate(obj)
	view.ShowObject(f.key, state)
	return view.Err() == nil && !(untilReady && f.verdict.State != readiness.Progressing), nil
}

// only returns the object of a listing of one object, or nil.
func only(l *cluster.Listing) *unstructured.Unstructured {
	if len(l.Objects) == 0 {
		return nil
	}
	return &l.Objects[0]
}

// outcome prints why the object isn't ready at the end, and returns the exit code.
func (f *watchedObject) outcome(ctx context.Context, env command.Env, timeout time.Duration, waited bool) int {
	print := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		fmt.Fprintf(env.Err, "pequod: %s %s/%s: %s\n", f.key.Kind, f.key.Namespace, f.key.Name, source.Escape(text, ""))
	}
	switch {
	case f.requestError != nil:
		fmt.Fprintf(env.Err, "pequod: %s\n", source.Escape(f.requestError.Error(), ""))
		return command.ExitUnknown
	case f.gone:
		return command.ExitNo
	case f.verdict.State == readiness.Ready:
		return command.ExitOK
	case f.verdict.State == readiness.Failed && waited:
		print("can't become ready without a change: %s", f.verdict.Message)
	case errors.Is(context.Cause(ctx), applier.ErrTimeout):
		print("not ready after %s (--timeout): %s", timeout, f.verdict.Message)
	}
	return command.ExitNo
}
