package provenance

// Source returns the repository with the instances. ok is false if the statement names
// none.
func (b *Build) Source() (repository Resource, ok bool) {
	for _, r := range b.Dependencies {
		if r.Role() == Source && r.Digest[GitCommit] != "" {
			return r, true
		}
	}
	return Resource{}, false
}
