package controller

import "sync"

// turn makes sure that a driver has one step at a time, and that a step follows
// every request for one. It is safe for concurrent use. The zero value is idle.
type turn struct {
	mu    sync.Mutex
	state turnState
}

type turnState int

const (
	turnIdle    turnState = iota
	turnWaiting           // a step is queued
	turnTaken             // a step is running
	turnAgain             // a step is running, and another one was asked for since
)

// ask asks for a step. It reports whether the caller has to queue it.
func (t *turn) ask() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch t.state {
	case turnIdle:
		t.state = turnWaiting
		return true
	case turnTaken:
		t.state = turnAgain
	}
	return false
}

// begin is called when the queued step begins.
func (t *turn) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = turnTaken
}

// end is called when the step has ended. It reports whether the caller has to
// queue another one.
func (t *turn) end() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	again := t.state == turnAgain
	t.state = turnIdle
	if again {
		t.state = turnWaiting
	}
	return again
}
