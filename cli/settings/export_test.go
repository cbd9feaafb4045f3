package settings

// RepositoryFlags is repositoryFlags for tests.
var RepositoryFlags = repositoryFlags

// PathFlags is pathFlags for tests.
var PathFlags = pathFlags

// CheckType is checkType for tests.
var CheckType = checkType

// FindConfig returns the nearest pequod.yaml of a directory, for tests.
func FindConfig(dir, home string, me int, owner func(string) (int, bool)) (file, repository string, err error) {
	found, err := search(dir, home, ownership{uid: owner, self: []int{me}}).configs(1)
	if err != nil || len(found) == 0 {
		return "", "", err
	}
	return found[0].path, found[0].repository, nil
}
