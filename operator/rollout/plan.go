package rollout

import "github.com/pequod-io/pequod/api/v1alpha1"

// Batch is a batch of a rollout that hasn't begun.
type Batch struct {
	// Number is the number of the batch in the settings, from 1. Batches without instances
	// are left out, so numbers may be missing.
	Number int
	// Canaries are the instances of the first batch that were chosen so that each impact
	// group is seen. They come first, and Step of them change at a time.
	Canaries []Instance
	Step     int
	// Instances are the other instances of the batch.
	Instances []Instance
}

// Plan returns the batches in which a rollout to a digest reaches the instances, if none of
// them fails. Instances with an empty Change, held and refused ones are left out. The
// settings may be nil.
func Plan(settings *v1alpha1.Rollout, to Version, instances []Instance) []Batch {
	// Without settings there is one batch, which Decide doesn't keep apart.
	if settings == nil {
		settings = &v1alpha1.Rollout{}
	}
	r := &run{Input: Input{Settings: settings, To: to, Instances: instances}, batches: batchesOf(settings)}
	r.classify()
	total, step := r.total(), r.batches.step(r.total())
	if step < total {
		for _, in := range canariesOf(r.pending) {
			r.state.Canaries = append(r.state.Canaries, in.name())
		}
		r.updated = nil
		r.classify()
	}
	var plan []Batch
	for done, number, canaries := 0, 0, len(r.state.Canaries); done < len(r.pending); {
		number = r.batches.next(number, done, total, canaries)
		b := Batch{Number: number, Step: step}
		for target := r.batches.target(number, total, canaries); done < target; done++ {
			if done < canaries {
				b.Canaries = append(b.Canaries, *r.pending[done])
			} else {
				b.Instances = append(b.Instances, *r.pending[done])
			}
		}
		plan = append(plan, b)
	}
	return plan
}
