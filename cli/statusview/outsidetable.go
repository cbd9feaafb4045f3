package statusview

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/source"
)

// Tables configures [TableTexts].
type Tables struct {
	// Namespaces adds a column with the namespace, which objects of several namespaces always have.
	Namespaces bool
	// Wide adds reasons, numbers and times.
	Wide bool
	// Width is where lines are wrapped; 0 means not at all.
	Width int
}

// TableTexts returns a table for each kind that has objects:
//
//	ACTION          PHASE       READY   NEXT ATTEMPT   RUN                       MESSAGE
//	production-pg   Completed   True    <none>         https://example.com/1     the run of these inputs has succeeded
//
//	MONITOR   READY   TARGETS   UNREACHABLE   HOLDS       TRIPPED   MESSAGE
//	my-app    False   2         <none>        unhealthy   <none>    the rule unhealthy holds
//
//	RECEIVER      SOURCE    READY   DEAD LETTERS   MESSAGE
//	infra-runs    webhook   True    0              messages are received
//
// Times are in UTC.
func TableTexts(o Outside, t Tables) (texts []string) {
	t.Namespaces = t.Namespaces || len(o.namespaces()) > 1
	for _, part := range []struct {
		rows         []Row
		header, wide string
	}{
		{o.Actions, "ACTION PHASE READY NEXT_ATTEMPT RUN MESSAGE", "REASON ATTEMPT LAST_CHECK"},
		{o.Monitors, "MONITOR READY TARGETS UNREACHABLE HOLDS TRIPPED MESSAGE", "REASON FIRED CHANGED"},
		{o.Receivers, "RECEIVER SOURCE READY DEAD_LETTERS MESSAGE", "REASON LAST_DEAD_LETTER"},
	} {
		var rows [][]string
		for _, r := range part.rows {
			rows = append(rows, t.row(r))
		}
		if len(rows) > 0 {
			texts = append(texts, style.Table(t.header(part.header, part.wide), rows, t.Width))
		}
	}
	return texts
}

func (a Action) columns() (short, wide []string) {
	return []string{string(a.Phase), a.ready(), moment(a.NextAttemptAt), a.URL, a.Message}, []string{a.Reason, count(a.Attempt), a.check()}
}

func (m Monitor) columns() (short, wide []string) {
	return []string{m.ready(), strconv.Itoa(int(m.Targets)), m.unreachable(), m.rules(Rule.holds), m.rules(Rule.tripped), m.Message},
		[]string{m.Reason, m.rules(Rule.fired), moment(m.ChangedAt)}
}

func (r Receiver) columns() (short, wide []string) {
	return []string{r.Source, r.ready(), strconv.Itoa(len(r.DeadLetters)), r.Message}, []string{r.Reason, r.lastLetter()}
}

// row returns the cells of a row.
func (t Tables) row(r Row) []string {
	short, wide := r.columns()
	row := append([]string{r.Base().Name}, short...)
	if t.Namespaces {
		row = append([]string{r.Base().Namespace}, row...)
	}
	if t.Wide {
		row = append(row, wide...)
	}
	for i := range row {
		row[i] = source.Escape(cmp.Or(row[i], "<none>"), "")
	}
	return row
}

// header returns the header of a table. An underscore is a space in a column's name.
func (t Tables) header(columns, wide string) (header []string) {
	if t.Namespaces {
		header = append(header, "NAMESPACE")
	}
	header = append(header, strings.Fields(columns)...)
	if t.Wide {
		header = append(header, strings.Fields(wide)...)
	}
	for i := range header {
		header[i] = strings.ReplaceAll(header[i], "_", " ")
	}
	return header
}

// ready returns the status of the condition as Kubernetes writes it.
func (s Summary) ready() string {
	if s.Ready {
		return string(metav1.ConditionTrue)
	}
	return string(metav1.ConditionFalse)
}

// moment returns a time in UTC, "" for none.
func moment(at *metav1.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// count returns a number, "" for 0.
func count(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// check returns the result of the last check for drift.
func (a Action) check() string {
	if a.LastCheck == nil {
		return ""
	}
	return string(a.LastCheck.Result)
}

// maxNamed is the number of targets that a cell has.
const maxNamed = 3

// unreachable returns the names of the first targets that can't be read.
func (m Monitor) unreachable() string {
	var names []string
	for _, t := range m.Unreachable {
		if len(names) == maxNamed {
			names = append(names, fmt.Sprintf("%d more", len(m.Unreachable)-maxNamed))
			break
		}
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

// rules returns what a function says about the rules, without those about which it says nothing.
func (m Monitor) rules(say func(Rule) string) string {
	var all []string
	for _, r := range m.Rules {
		if text := say(r); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

func (r Rule) holds() string {
	if !r.Holds {
		return ""
	}
	return r.Name
}

func (r Rule) tripped() string {
	if !r.Tripped {
		return ""
	}
	return r.Name
}

// fired returns the name with the number of firings.
func (r Rule) fired() string {
	if r.Fired == 0 {
		return ""
	}
	return fmt.Sprintf("%s %d", r.Name, r.Fired)
}

// lastLetter returns the time of the newest dead letter and why it was given up.
func (r Receiver) lastLetter() string {
	if len(r.DeadLetters) == 0 {
		return ""
	}
	return moment(&r.DeadLetters[0].At) + " " + r.DeadLetters[0].Message
}
