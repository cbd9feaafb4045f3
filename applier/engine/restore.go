package engine

import "fmt"

// A graph and its objects may be restored from a backup by different tools. The graph
// then has no inventory, and its objects have its labels, but the tool that restored
// them is the manager of these labels. Labels alone prove little, because users and
// controllers copy them. Such an object is therefore adopted only if all of this is
// true:
//
//   - The inventory has no object yet, so the graph is new or was restored.
//   - The labels name this graph, and a node of the graph names the object.
//   - No other object owns it. Controllers set an owner on the objects that they
//     make with the labels of another one.
//   - No other graph lists it.

// restored decides about an object that may have been restored with its labels. It
// returns false if the object wasn't, and otherwise records that it is the graph's.
func (e *Engine) restored(n *node, seen *observation) (decision, bool) {
	if !e.ledger.empty || !seen.mine || seen.dependent {
		return decision{}, false
	}
	if !e.claimsLoaded() {
		wait := "has the labels of the graph; looking whether another graph lists it"
		if f := e.removals.claims.load.failure; f != nil {
			wait = "has the labels of the graph; can't check whether another graph lists it: " + f.Error()
		}
		return decision{wait: wait}, true
	}
	entry := n.entry()
	entry.UID = seen.uid
	if other, claimed := e.removals.claims.value.Of(entry); claimed {
		return decision{failure: &Failure{
			Reason: ReasonOwnedElsewhere, Terminal: true,
			Message: fmt.Sprintf("has the labels of this graph, but graph %s lists it: remove it from that graph first", other),
		}}, true
	}
	// From here on the UID proves that the object is the graph's, also for a run that
	// continues this one.
	e.ledger.entries[n.key] = entry
	n.progress.restored = true
	return decision{}, true
}
