package artifact

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/operator/blob"
)

// The bytes of new archives that an InstanceSource may store: burst at once, and rate per second. A
// namespace may store its quota at once, and its quota per namespacePeriod, so that it gains nothing
// by new InstanceSources. Deleted archives fill etcd until it is compacted.
const (
	sourceBurst     = 32 << 20
	sourceRate      = rate.Limit(1<<20) / 60
	namespacePeriod = time.Hour
)

// LimitError is the error of an archive that can't be saved now.
type LimitError struct {
	// Digest and Size are those of the archive.
	Digest string
	Size   int64
	// Until is when the rate admits the archive. If it is zero, a quota is used up.
	Until time.Time

	message string
}

func (e *LimitError) Error() string { return e.message }

// Room returns a [*LimitError] if a quota that has refused an archive still does. It makes no request.
func (s *Store) Room(ctx context.Context, of types.NamespacedName, refused *LimitError, keep ...string) error {
	parts, err := s.blobs().Parts(ctx, s.Client)
	if err != nil {
		return err
	}
	return s.room(parts, of, refused.Digest, refused.Size, append(slices.Clone(keep), refused.Digest))
}

// room returns a [*LimitError] if an archive doesn't fit in a quota once the InstanceSource has it and
// those to keep.
func (s *Store) room(parts []blob.Part, of types.NamespacedName, digest string, size int64, keep []string) error {
	all, own := map[string]int64{}, map[string]int64{} // sizes by digest
	for _, p := range parts {
		source, archive := about(p)
		if source == "" || archive == "" || source == of.String() && !slices.Contains(keep, archive) {
			continue
		}
		all[archive], _ = strconv.ParseInt(p.Annotations[annotationSize], 10, 64) // as Save has written it
		if strings.HasPrefix(source, of.Namespace+"/") {
			own[archive] = all[archive]
		}
	}
	exceeds := func(sizes map[string]int64, quota int64, whose, flag string) error {
		var used int64
		for _, n := range sizes {
			used += n
		}
		if _, counted := sizes[digest]; quota == 0 || counted || used+size <= quota {
			return nil
		}
		return &LimitError{Digest: digest, Size: size, message: fmt.Sprintf(
			"the archive has %s, and the InstanceSources of %s use %s of %s; delete some of them, render fewer instances, or raise %s of pequod-manager",
			mib(size), whose, mib(used), mib(quota), flag)}
	}
	if err := exceeds(own, s.NamespaceQuota, "namespace "+of.Namespace, "--artifact-namespace-quota"); err != nil {
		return err
	}
	return exceeds(all, s.TotalQuota, "the cluster", "--artifact-total-quota")
}

func mib(n int64) string { return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20)) }

// charge takes the bytes of an archive that aren't stored yet from the rates of the InstanceSource and
// of its namespace. It returns a function that gives them back, or a [*LimitError] if they must wait.
func (s *Store) charge(parts []blob.Part, of types.NamespacedName, digest string, size int) (refund func(), err error) {
	missing := size
	for _, p := range parts {
		if p.Blob == nameOf(digest) {
			missing = max(0, missing-blob.MaxPart)
		}
	}
	now := s.Now()
	if s.rates == nil {
		s.rates = map[string]*rate.Limiter{}
	}
	// A full limiter is as good as a new one.
	maps.DeleteFunc(s.rates, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= float64(l.Burst()) })
	var taken []*rate.Reservation
	refund = func() {
		for _, t := range taken {
			t.CancelAt(now)
		}
	}
	var wait time.Duration
	take := func(key string, every rate.Limit, burst int) {
		if s.rates[key] == nil {
			s.rates[key] = rate.NewLimiter(every, burst)
		}
		t := s.rates[key].ReserveN(now, missing)
		taken, wait = append(taken, t), max(wait, t.DelayFrom(now))
	}
	take(of.String(), sourceRate, sourceBurst)
	if s.NamespaceQuota > 0 {
		take(of.Namespace, rate.Limit(float64(s.NamespaceQuota)/namespacePeriod.Seconds()), int(max(s.NamespaceQuota, MaxSize)))
	}
	if wait == 0 {
		return refund, nil
	}
	refund()
	until := now.Add(wait).Truncate(time.Second).Add(time.Second).UTC()
	return nil, &LimitError{Digest: digest, Size: int64(size), Until: until, message: fmt.Sprintf(
		"the InstanceSource or its namespace has stored many archives lately; this one of %s waits until %s; change the source less often, or render fewer instances",
		mib(int64(size)), until.Format(time.RFC3339))}
}
