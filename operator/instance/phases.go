package instance

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// countPhases calls each with the numbers of the instances of all platforms, by the phases that
// the informers show. All phases are listed, also those that no instance is in. An instance
// without a status is Pending.
func (c *controllers) countPhases(each func(platform, phase string, instances int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.running {
		phases := map[string]int{phasePending: 0, phaseRendering: 0, phaseReady: 0, phaseFailed: 0}
		for _, obj := range k.informer.GetStore().List() {
			phase, _, _ := unstructured.NestedString(obj.(*unstructured.Unstructured).Object, "status", "phase")
			if _, known := phases[phase]; !known {
				phase = phasePending
			}
			phases[phase]++
		}
		for phase, n := range phases {
			each(k.entry.Load().Transform.String(), phase, n)
		}
	}
}
