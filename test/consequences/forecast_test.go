package consequences

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/review/forecast"
)

// TestRules checks that the rules of package forecast are those of the measurements.
func TestRules(t *testing.T) {
	table, err := Generate("testdata", nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := encode(table)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../review/forecast/rules.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run make generate (-want +got):\n%s", diff)
	}
}

// score counts how forecasts compare with measurements.
type score struct{ cases, wrong, overcautious, documented int }

// TestForecast compares the forecast of every case with what happened.
func TestForecast(t *testing.T) {
	if s := compare(t, func(string) forecast.Table { return forecast.Rules() }); s.wrong > 0 || s.overcautious*20 > s.cases {
		t.Errorf("wrong: %d, allowed 0; overcautious: %d of %d, allowed 5 %%", s.wrong, s.overcautious, s.cases)
	}
}

// compare compares the forecast of every case with its measurement, and logs the sums.
// A forecast is wrong if something more severe happened than any of its effects. It is
// overcautious if its most severe effect didn't happen, unless the control plane can't
// show that effect and the rule is documented.
func compare(t *testing.T, rules func(name string) forecast.Table) score {
	t.Helper()
	cases, err := Cases("testdata")
	if err != nil {
		t.Fatal(err)
	}
	measured, err := ReadMeasurements("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var s score
	kinds := map[string]bool{}
	for _, c := range cases {
		s.cases++
		before, after, err := c.Objects()
		if err != nil {
			t.Fatal(err)
		}
		d := objectdiff.Compare(before, after)
		for _, o := range d.Objects {
			kinds[o.Kind] = true
		}
		worst := worstOf(rules(c.Name).Of(d, before, after))
		o, ok := measured.Cases[c.Name]
		if !ok {
			t.Fatalf("%s isn't measured: run make consequences", c.Name)
		}
		happened := o.Effect(c)
		switch {
		case !Quiet(happened) && worst.Effect.Severity() < happened.Severity():
			s.wrong++
			t.Logf("wrong: %s: forecast %s (%s), but %s happened: %+v", c.Name, worst.Effect, worst.Rule, happened, o)
		case worst.Effect == happened || Quiet(worst.Effect) && Quiet(happened):
			if n := worst.Pods; happened.Restarts() && n > 0 && n != o.Ended {
				t.Errorf("%s: forecast %d Pods, but %d ended", c.Name, n, o.Ended)
			}
		case documented(worst.Rule):
			s.documented++
			t.Logf("documented: %s: forecast %s (%s), which can't be measured", c.Name, worst.Effect, worst.Rule)
		default:
			s.overcautious++
			t.Logf("overcautious: %s: forecast %s (%s), but %s happened", c.Name, worst.Effect, worst.Rule, happened)
		}
	}
	t.Logf("Kubernetes %s: %d changes of %d kinds: %d wrong, %d overcautious (%.1f %%), %d that only the documentation shows",
		measured.Kubernetes, s.cases, len(kinds), s.wrong, s.overcautious, 100*float64(s.overcautious)/float64(s.cases), s.documented)
	return s
}

// worstOf returns the most severe consequence of a diff.
func worstOf(found map[objectdiff.Key][]forecast.Consequence) forecast.Consequence {
	worst := forecast.Consequence{Effect: forecast.None}
	for _, all := range found {
		if len(all) > 0 && all[0].Effect.Severity() > worst.Effect.Severity() {
			worst = all[0]
		}
	}
	return worst
}

// documented reports whether no measurement shows a rule.
func documented(id string) bool {
	rules := forecast.Rules()
	i := slices.IndexFunc(rules, func(r forecast.Rule) bool { return r.ID() == id })
	return i >= 0 && len(rules[i].Cases) == 0
}
