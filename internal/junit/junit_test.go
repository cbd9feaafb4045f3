package junit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrite(t *testing.T) {
	var b strings.Builder
	err := Write(&b, Report{Name: "all", Suites: []Suite{
		{Name: "one", Cases: []Case{
			{Name: "passes", Output: "a <b>"},
			{Name: "fails", Failure: &Failure{Message: "no", Body: "why", Type: "rule"}},
		}},
		{Name: "two", Output: "50%", Cases: []Case{{Name: "fails", Failure: &Failure{Message: "no"}}}},
		{Name: "none"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="all" tests="3" failures="2" errors="0">
  <testsuite name="one" tests="2" failures="1" errors="0">
    <testcase classname="one" name="passes">
      <system-out>a &lt;b&gt;</system-out>
    </testcase>
    <testcase classname="one" name="fails">
      <failure message="no" type="rule">why</failure>
    </testcase>
  </testsuite>
  <testsuite name="two" tests="1" failures="1" errors="0">
    <testcase classname="two" name="fails">
      <failure message="no"></failure>
    </testcase>
    <system-out>50%</system-out>
  </testsuite>
  <testsuite name="none" tests="0" failures="0" errors="0"></testsuite>
</testsuites>
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
