package worker

import (
	"strings"
	"time"
)

// IDs returns the process ids of the processes.
func (p *Pool) IDs() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ids []int
	for _, pl := range p.platforms {
		for _, l := range pl.lanes {
			if l.process != nil {
				ids = append(ids, l.process.cmd.Process.Pid)
			}
		}
	}
	return ids
}

// Calls returns the number of calls of a platform that wait, and whether one is evaluated.
func (p *Pool) Calls(key Key) (waiting int, busy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pl := p.platforms[key]
	return len(pl.calls), pl.busy()
}

// Path returns the file of the sources with a digest.
func (p *Pool) Path(digest string) string { return p.store.path(digest) }

// Turns returns the order in which platforms with numbers of waiting calls get their turns if
// one of them evaluates at a time. All that are in failed have failed last.
func Turns(calls map[string]int, failed map[string]bool, order []string) []string {
	q := &queue{slots: 1, suspects: true}
	for _, name := range order {
		p := &platform{key: Key{Digest: name}, lanes: []*lane{{}}}
		for range calls[name] {
			p.push(&call{urgent: strings.HasPrefix(name, "urgent")})
		}
		if failed[name] {
			p.failures = 1
		}
		q.add(p)
	}
	var turns []string
	for {
		p, l := q.next(time.Time{}, (*platform).free)
		if p == nil {
			return turns
		}
		turns = append(turns, p.key.Digest)
		p.calls = p.calls[1:]
		q.release(l)
		q.add(p)
	}
}
