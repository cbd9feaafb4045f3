package artifact_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/operator/artifact"
)

// source returns the key of an InstanceSource.
func source(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// different returns bytes that no other call returns.
func different(t *testing.T, n, size int) []byte {
	t.Helper()
	data := make([]byte, size)
	if _, err := rand.NewChaCha8([32]byte{1: byte(n), 2: byte(n >> 8), 3: 1}).Read(data); err != nil {
		t.Fatal(err)
	}
	return data
}

// refused saves an archive, which must be refused with a message.
func refused(t *testing.T, s *artifact.Store, of types.NamespacedName, data []byte, want string, keep ...string) *artifact.LimitError {
	t.Helper()
	var limit *artifact.LimitError
	if _, err := s.Save(t.Context(), of, data, keep...); !errors.As(err, &limit) || err.Error() != want {
		t.Fatalf("%v\nwant %s", err, want)
	}
	return limit
}

// TestQuota fills the quotas. An archive counts once in each namespace and once in the cluster.
func TestQuota(t *testing.T) {
	t.Parallel()
	s, api := newStore(t)
	s.NamespaceQuota, s.TotalQuota = 2<<20, 3<<20
	const next = "; delete some of them, render fewer instances, or raise "
	full := "the archive has 1.00 MiB, and the InstanceSources of namespace a use 2.00 MiB of 2.00 MiB" + next + "--artifact-namespace-quota of pequod-manager"
	one, two, three := different(t, 1, 1<<20), different(t, 2, 1<<20), different(t, 3, 1<<20)
	first := save(t, s, source("a", "x"), one)
	save(t, s, source("a", "y"), one)
	second := save(t, s, source("a", "x"), two, first)
	before := count(t, s, api)
	limit := refused(t, s, source("a", "z"), three, full)
	refused(t, s, source("a", "x"), three, full, second) // y has the first one, too
	if n := count(t, s, api); n != before {
		t.Errorf("%d objects; want %d", n, before)
	}
	// A new process knows the same.
	again := &artifact.Store{Client: s.Client, API: s.API, Namespace: s.Namespace, Now: time.Now, NamespaceQuota: s.NamespaceQuota, TotalQuota: s.TotalQuota}
	refused(t, again, source("a", "z"), three, full)
	// An archive that the namespace has is no reason to refuse, also if the quota was lowered.
	again.NamespaceQuota, again.TotalQuota = 1<<20, 1<<20
	save(t, again, source("a", "z"), two)

	save(t, s, source("b", "x"), two) // counts in the cluster already
	save(t, s, source("b", "x"), three, second)
	total := "the archive has 0.01 MiB, and the InstanceSources of the cluster use 3.00 MiB of 3.00 MiB" + next + "--artifact-total-quota of pequod-manager"
	refused(t, s, source("c", "x"), different(t, 4, 10_000), total)
	// Only the archives that an InstanceSource keeps count.
	save(t, s, source("c", "x"), one)
	prune(t, s, source("a", "x"), second)
	prune(t, s, source("a", "y"))
	if err := s.Room(t.Context(), source("a", "z"), limit); err != nil {
		t.Errorf("no room: %v", err)
	}
	save(t, s, source("c", "x"), different(t, 4, 10_000))
	var still *artifact.LimitError
	if err := s.Room(t.Context(), source("d", "z"), &artifact.LimitError{Digest: "sha256:other", Size: 1 << 20}); !errors.As(err, &still) {
		t.Errorf("room in the cluster: %v", err)
	}
	save(t, s, source("a", "z"), three)
}

// Of archives that are saved at the same time, only as many pass as there is room for.
func TestQuotaRace(t *testing.T) {
	t.Parallel()
	s, api := newStore(t)
	s.NamespaceQuota = 4 * 500_000
	var saved, over atomic.Int32
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			_, err := s.Save(t.Context(), source("a", fmt.Sprint(i)), different(t, i, 500_000))
			var limit *artifact.LimitError
			switch {
			case err == nil:
				saved.Add(1)
			case errors.As(err, &limit):
				over.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if saved.Load() != 4 || over.Load() != 8 || count(t, s, api) != 2*4 {
		t.Errorf("%d saved, %d refused, %d objects", saved.Load(), over.Load(), count(t, s, api))
	}
}

// Some save an archive again and again, and others prune it. Whoever has saved it last can read it.
func TestSaveWhilePruning(t *testing.T) {
	t.Parallel()
	s, api := newStore(t)
	data := random(t, 1_000_000)
	var all sync.WaitGroup
	for i := range 4 {
		of := source("a", fmt.Sprint(i))
		all.Go(func() {
			for range 8 {
				digest, err := s.Save(t.Context(), of, data)
				if err == nil {
					_, err = s.Read(t.Context(), of, digest)
				}
				if err == nil {
					err = s.Prune(t.Context(), of)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if n := count(t, s, api); n != 0 {
		t.Errorf("%d objects are left", n)
	}
}

// TestRate saves new archives faster than the rates admit.
func TestRate(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s.Now = func() time.Time { return now }
	const waits = "the InstanceSource or its namespace has stored many archives lately; this one of 10.00 MiB waits until %s; change the source less often, or render fewer instances"
	archives := 0
	next := func() []byte { archives++; return different(t, archives, artifact.MaxSize) }
	for range 3 {
		save(t, s, source("a", "x"), next())
	}
	fourth := next()
	limit := refused(t, s, source("a", "x"), fourth, fmt.Sprintf(waits, "2026-01-01T12:08:01Z")) // 8 MiB are missing
	small := save(t, s, source("a", "x"), different(t, 0, 100_000))
	save(t, s, source("a", "y"), fourth)
	save(t, s, source("a", "x"), fourth, small) // needs no bytes any more
	if now = limit.Until.Add(6 * time.Second); limit.Until.IsZero() {
		t.Error("no time")
	}
	save(t, s, source("a", "x"), next()) // the small one took 6 s

	// A namespace can store its quota, and its quota per hour, whichever its InstanceSources are.
	s.NamespaceQuota = 20 << 20
	for _, name := range []string{"x", "y"} {
		save(t, s, source("b", name), next())
		prune(t, s, source("b", name))
	}
	refused(t, s, source("b", "z"), next(), fmt.Sprintf(waits, now.Add(30*time.Minute).Add(time.Second).Format(time.RFC3339)))
	save(t, s, source("c", "z"), next())
	if now = now.Add(time.Hour); strings.Contains(limit.Error(), "\n") {
		t.Error(limit)
	}
	save(t, s, source("b", "z"), next())
}
