package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestReport writes a report into a document: medians, ratios of the same round, and what wasn't
// measured.
func TestReport(t *testing.T) {
	seconds := func(wall ...float64) (all []sample) {
		for i, w := range wall {
			all = append(all, sample{i + 1, time.Duration(w * float64(time.Second)), time.Duration(w * float64(time.Second) / 2)})
		}
		return all
	}
	r := &report{
		objects: 100, rest: time.Minute, rounds: 3, machine: "a machine", load: "0.50",
		began: time.Date(2026, 11, 27, 2, 30, 0, 0, time.UTC),
		peers: []*results{
			{name: "kubectl", version: "v1", samples: map[stepOf][]sample{"create": seconds(1, 2, 4), "remove one": seconds(3)}, requests: map[stepOf]int{"create": 12}, peakMiB: []float64{50}, left: 1},
			{name: "other", version: "v2", samples: map[stepOf][]sample{"create": seconds(3, 2, 4), "remove one": {{0, 60 * time.Second, time.Second}}, "delete": seconds(1)}, rest: &atRest{7, time.Second / 4}, drift: "0.1 s", peakMiB: []float64{70, 90, 80}},
			{name: "absent", skipped: "not built: no module"},
		},
	}
	document := "# Title\n\n" + beginMark + "\nold\n" + endMark + "\nafter\n"
	got, err := replace([]byte(document), r.markdown("1.25"))
	if err != nil {
		t.Fatal(err)
	}
	want := "# Title\n\n" + beginMark + `

100 objects, 27 November 2026, medians of 3 rounds, on a machine. The load was 0.50 at the beginning and 1.25 at
the end.

Seconds until everything is applied and ready, or gone, and the ratio to kubectl:

| peer | create | apply again | change one | remove one | delete |
|---|---|---|---|---|---|
| kubectl | 2.00 (1.00×) | – | – | 3.00 (1.00×) | – |
| other | 3.00 (1.00×) | – | – | 60.00 | 1.00 |

CPU seconds of the peer's processes, and the ratio to kubectl:

| peer | create | apply again | change one | remove one | delete |
|---|---|---|---|---|---|
| kubectl | 1.00 (1.00×) | – | – | 1.50 (1.00×) | – |
| other | 1.50 (1.00×) | – | – | 1.00 | 0.50 |

Requests to the API server:

| peer | create | apply again | change one | remove one | delete |
|---|---|---|---|---|---|
| kubectl | 12 | – | – | – | – |
| other | – | – | – | – | – |

Memory, remains, rest and drift:

| peer | version | peak memory | objects left | requests in 1m0s of rest | CPU in 1m0s of rest | drift is corrected after |
|---|---|---|---|---|---|---|
| kubectl | v1 | 50 MiB | 1 | – | – | – |
| other | v2 | 80 MiB | 0 | 7 | 0.25 s | 0.1 s |

Not measured:

- absent: not built: no module

` + endMark + "\nafter\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
	if _, err := replace([]byte("# Title\n"), "new"); err == nil || !strings.Contains(err.Error(), "no lines <!--") {
		t.Errorf("a document without marks: %v", err)
	}
}

// TestWorkload checks the number of objects, and that ids and keys differ: a peer that saw two equal
// ones would have less to do.
func TestWorkload(t *testing.T) {
	for _, n := range []int{4, 7, 100} {
		objects := workload("ns", n, "info")
		ids := map[string]bool{}
		for _, o := range objects {
			ids[idOf(o)] = true
		}
		if len(objects) != n || len(ids) != n || len(keysOf(objects)) != n || len(keysOf(without(objects))) != n-1 {
			t.Errorf("%d objects: %d, %d ids, %d keys, %d keys without the spare one", n, len(objects), len(ids), len(keysOf(objects)), len(keysOf(without(objects))))
		}
	}
}
