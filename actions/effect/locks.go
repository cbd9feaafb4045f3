package effect

import "sync"

// locks keep the writes of one process to one object from conflicting with each other.
type locks struct {
	mu sync.Mutex
	of map[string]*counted
}

// counted is a lock with the number of those who have it or wait for it.
type counted struct {
	sync.Mutex
	users int
}

// lock locks a name. The result unlocks it.
func (l *locks) lock(name string) (unlock func()) {
	l.mu.Lock()
	if l.of == nil {
		l.of = map[string]*counted{}
	}
	c := l.of[name]
	if c == nil {
		c = &counted{}
		l.of[name] = c
	}
	c.users++
	l.mu.Unlock()
	c.Lock()
	return func() {
		c.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if c.users--; c.users == 0 {
			delete(l.of, name)
		}
	}
}
