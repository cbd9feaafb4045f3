package program

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// TestQuiet logs lines that repeat ten times and then one each ten minutes, with the number of those that were
// left out, and others beside them.
func TestQuiet(t *testing.T) {
	var logged []string
	log := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
	now := time.Now()
	q := &quiet{now: func() time.Time { return now }, texts: map[string]*repeated{}}
	check := func(want int, last string) {
		t.Helper()
		if len(logged) != want || !strings.Contains(logged[want-1], last) {
			t.Errorf("%d lines; want %d, the last with %s: %v", len(logged), want, last, logged)
		}
		logged = nil
	}
	out := lines{log, q}
	handshakes := func(n int) {
		for i := range n {
			fmt.Fprintf(out, "http: TLS handshake error from 10.0.0.1:%d: EOF\n", i)
		}
	}
	handshakes(500)
	check(10, "10.0.0.1:9: EOF")
	fmt.Fprintln(out, "http: panic serving [::1]:80: oops")
	fmt.Fprintln(out, "no number")
	check(2, "no number")
	now = now.Add(10 * time.Minute)
	handshakes(2)
	check(1, `"leftOut"=490`)
	now = now.Add(2 * time.Hour)
	handshakes(1)
	check(1, "10.0.0.1:0: EOF")

	// The errors that libraries can't return.
	before := utilruntime.ErrorHandlers[0]
	defer func() { utilruntime.ErrorHandlers[0] = before }()
	handleErrors(q)
	ctx := klog.NewContext(context.Background(), log)
	for range 50 {
		utilruntime.HandleErrorWithContext(ctx, errors.New("the group is down"), "Failed to watch", "type", "x")
		utilruntime.HandleErrorWithContext(ctx, nil, "Unexpected object")
	}
	check(20, "Unexpected object")
	now = now.Add(10 * time.Minute)
	utilruntime.HandleErrorWithContext(ctx, errors.New("the group is down"), "Failed to watch", "type", "x")
	check(1, `"type"="x" "leftOut"=40`)

	// Many texts take no memory.
	for i := range 5 * maxTexts {
		utilruntime.HandleErrorWithContext(klog.NewContext(ctx, logr.Discard()), fmt.Errorf("error %d", i), "Failed")
	}
	if len(q.texts) > maxTexts+1 {
		t.Errorf("%d texts", len(q.texts))
	}
}
