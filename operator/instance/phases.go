package instance

// countPhases calls each with the numbers of the instances of all platforms, by the phases that
// the informers show. All phases are listed, also those that no instance is in. An instance
// without a status is Pending.
func (c *controllers) countPhases(each func(platform, phase string, instances int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.running {
		k.mu.Lock()
		for phase, n := range k.tally.phases {
			each(k.entry.Load().Transform.String(), phase, n)
		}
		k.mu.Unlock()
	}
}
