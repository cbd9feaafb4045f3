package progress

import (
	"github.com/pequod-io/pequod/cli/statusview"
	"github.com/pequod-io/pequod/inventory"
)

// ShowObject prints the state of an Action, a Monitor or a Receiver, unless its line is the last one
// that was printed about it:
//
//	Action shop/db: not ready, Applying: the run is in progress
func (l *States) ShowObject(key inventory.Key, state statusview.Row) { l.object(key, state.Line()) }

// GoneObject prints that an object was deleted.
func (l *States) GoneObject(key inventory.Key) {
	l.object(key, key.Kind+" "+key.Namespace+"/"+key.Name+": "+goneText)
}

// object prints the line of an object, unless it is the last one.
func (l *States) object(key inventory.Key, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.objects[key] == line {
		return
	}
	if l.objects == nil {
		l.objects = map[inventory.Key]string{}
	}
	l.objects[key] = line
	l.print("%s\n", line)
}
