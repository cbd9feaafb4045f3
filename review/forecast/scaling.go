package forecast

// autoscaled reports whether an autoscaler sets the replicas of the object after the
// change.
func (s *subject) autoscaled() (detail, bool) {
	if s.diff.New() == nil {
		return detail{}, false
	}
	a, ok := s.sides.after.autoscalerOf(s.diff.New())
	return detail{text: a.object.String()}, ok
}

// targetSetsReplicas reports whether the object is a new autoscaler, or one with a new
// target, and the manifest of the target sets spec.replicas.
func (s *subject) targetSetsReplicas() (detail, bool) {
	if s.diff.New() == nil {
		return detail{}, false
	}
	a, ok := autoscalerOf(s.diff.New())
	if !ok {
		return detail{}, false
	}
	target := s.sides.after.all[a.target]
	return detail{text: a.target.String()}, target != nil && target.SetsReplicas()
}
