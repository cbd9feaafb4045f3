package engine

// Done receives the outcome of an action that a step returned. The driver must
// call it exactly once per action, in any order.
func (e *Engine) Done(a Action, o Outcome) {
	e.inFlight--
	if a.Verb == Apply {
		e.applying--
	}
	var n *node // nil for an object that left the graph
	if a.Node != "" {
		n = e.nodes.byID[a.Node]
	}
	if n != nil {
		n.schedule.stale = true
	}
	switch a.Verb {
	case Survey:
		e.finishSurvey(a, o)
	case Discover:
		e.finishDiscover(a, o)
	case Record:
		e.finishRecord(o)
	case LoadClaims:
		e.finishLoadClaims(o)
	case Compare:
		e.finishCompare(n, o)
	case Explain:
		e.finishExplain(a, n, o)
	case Read:
		e.finishRead(a, n, o)
	case Apply:
		e.finishApply(a, n, o)
	case Delete, Release:
		e.finishWrite(a, n, o)
	}
}
