package sink

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/actions/history"
)

// memory is a store of Events that counts them.
type memory struct {
	Store
	rows int
}

func (m *memory) WriteEvents(_ context.Context, rows []history.Event) (int, error) {
	m.rows += len(rows)
	return len(rows), nil
}

// counts counts rows.
type counts struct{ stored, missed int }

func (c *counts) Stored(_ string, rows int) { c.stored += rows }
func (c *counts) Missed(_ string, rows int) { c.missed += rows }
func (c *counts) Failed(string)             {}

// TestExpired deletes Events while the memory for deleted objects is used up. Those that are stored
// are not missed, and aren't stored again.
func TestExpired(t *testing.T) {
	t.Parallel()
	db, c := &memory{}, &counts{}
	events := eventsTable(Options{Store: db, Metrics: c, Now: time.Now}, newCircuit(), nil)
	events.log = logr.Discard()
	events.handler()
	all := make([]*eventsv1.Event, 3)
	for i := range all {
		all[i] = &eventsv1.Event{}
		all[i].UID = types.UID(fmt.Sprint(i))
	}
	for _, e := range []*eventsv1.Event{all[0], all[1], all[0]} {
		if _, err := events.store(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	all[1].Series = &eventsv1.EventSeries{Count: 2}
	events.kept = maxGone
	for _, e := range all {
		events.keep(e)
	}
	if db.rows != 2 || c.stored != 2 || c.missed != 2 || len(events.marks) != 0 {
		t.Errorf("%d rows written, %d stored, %d missed, %d marks left", db.rows, c.stored, c.missed, len(events.marks))
	}
}
