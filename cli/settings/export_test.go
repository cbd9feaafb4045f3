package settings

// RepositoryFlags is repositoryFlags for tests.
var RepositoryFlags = repositoryFlags

// CheckType is checkType for tests.
var CheckType = checkType

// FindConfig is findConfig for tests.
func FindConfig(dir, home string, me int, owner func(string) (int, bool)) (file, repository string, err error) {
	found, err := findConfig(dir, home, ownership{uid: owner, self: []int{me}})
	return found.path, found.repository, err
}
