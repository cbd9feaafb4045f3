package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// stage is the state of a container.
type stage int

const (
	pulling    stage = iota // its image can't be pulled
	running                 // it runs
	backingOff              // it exited and will be started again
	terminated              // it exited for good
)

// scene is a container at one moment.
type scene struct {
	stage    stage
	started  time.Time // of the current run, if it runs
	ready    bool
	restarts int32
	last     *exit     // how the run before ended, or the last one
	next     time.Time // when the scene changes by itself; zero: never
}

// exit is the end of one run of a container.
type exit struct {
	started, finished time.Time
	code              int32
}

// at returns the state at the time now of a container that was first started at
// start.
func (s script) at(start, now time.Time) scene {
	if s.unpullable {
		return scene{stage: pulling}
	}
	var current scene
	for run := 0; ; run++ {
		if !s.exits || s.exitTimes > 0 && run >= s.exitTimes {
			return s.runs(current, start, now)
		}
		end := start.Add(s.exitAfter)
		if now.Before(end) {
			current = s.runs(current, start, now)
			current.next = earlier(current.next, end)
			return current
		}
		current.last = &exit{started: start, finished: end, code: s.exitCode}
		if s.restart == corev1.RestartPolicyNever || s.restart == corev1.RestartPolicyOnFailure && s.exitCode == 0 {
			current.stage = terminated
			return current
		}
		if start = end.Add(s.backoff << min(run, 4)); now.Before(start) {
			current.stage, current.next = backingOff, start
			return current
		}
		current.restarts++
	}
}

// runs returns the state of a container that has been running since start.
func (s script) runs(before scene, start, now time.Time) scene {
	before.stage, before.started = running, start
	if s.neverReady {
		return before
	}
	at := start.Add(s.readyAfter)
	if before.ready = !now.Before(at); !before.ready {
		before.next = at
	}
	return before
}

// earlier returns the earlier of two times. The zero time means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
