package render

import "runtime/metrics"

// Renderer renders instances one after the other. It keeps evaluated modules,
// so it is not safe for concurrent use; each worker of [Each] has its own. The
// zero value is ready.
type Renderer struct {
	Options
	built map[*Module]*builtModule
	heap  heapGrowth
}

// maxUses is the number of instances that a CUE context is used for. A context
// remembers every field name that it has seen, so it is thrown away to keep
// memory flat.
const maxUses = 100

// maxGrowth is how much the live heap of the process may grow, in bytes, before a
// Renderer throws its contexts away. A context keeps every value that it has
// evaluated, some megabytes for each instance if the objects have Kubernetes' types.
const maxGrowth = 32 << 20

// module returns an evaluated module for one more instance.
func (r *Renderer) module(m *Module) *builtModule {
	if r.heap.exceeds(maxGrowth) {
		r.built = nil
	}
	b := r.built[m]
	if b == nil || b.uses >= maxUses {
		if r.built == nil {
			r.built = map[*Module]*builtModule{}
		}
		b = m.acquire()
		r.built[m] = b
	}
	b.uses++
	return b
}

// heapGrowth observes how the live heap of the process grows. All workers share
// the heap, and its size is known after each garbage collection only. Growth is
// measured from the smallest size since the bound was exceeded the last time.
type heapGrowth struct {
	sample [2]metrics.Sample
	// since is the number of the collection after which the measurement begins.
	since uint64
	// least is the smallest live heap, in bytes, or 0 before the first collection.
	least uint64
}

// exceeds reports whether the live heap has grown by more than limit bytes. If so,
// it begins a new measurement.
func (g *heapGrowth) exceeds(limit uint64) bool {
	const cycles, live = 0, 1
	if g.sample[cycles].Name == "" {
		g.sample[cycles].Name, g.sample[live].Name = "/gc/cycles/total:gc-cycles", "/gc/heap/live:bytes"
	}
	metrics.Read(g.sample[:])
	cycle, now := g.sample[cycles].Value.Uint64(), g.sample[live].Value.Uint64()
	switch {
	case cycle <= g.since:
		return false
	case g.least == 0 || now < g.least:
		g.least = now
		return false
	case now-g.least <= limit:
		return false
	}
	g.since, g.least = cycle, 0
	return true
}
