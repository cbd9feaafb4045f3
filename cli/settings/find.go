package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/pequod-io/pequod/cli/command"
)

// FileName is the name of the configuration file of a repository.
const FileName = "pequod.yaml"

// userFileName is the name of the user's own file, in the directory pequod below
// $XDG_CONFIG_HOME. userConfig is its usual path, for messages.
const (
	userFileName = "config.yaml"
	userConfig   = "~/.config/pequod/" + userFileName
)

// configFile is a configuration file that exists.
type configFile struct {
	path string
	// repository is the directory that paths in the file must not leave. It is
	// empty for the user's own file, which may name any path and set any flag.
	repository string
}

// configFiles returns the files that apply in the working directory, the most
// important one first: the file of the repository, then the file of the user.
func configFiles(env command.Env) ([]configFile, error) {
	dir, err := directory(env)
	if err != nil {
		return nil, err
	}
	home := variable(env, "HOME", "USERPROFILE")
	user := userFile(env, home)
	repository, err := findConfig(dir, home, ownership{uid: ownerOf, self: selves(env)})
	if err != nil {
		return nil, err
	}
	var files []configFile
	if repository.path != "" {
		files = append(files, repository)
	}
	// Earlier versions read a file of another name. To ignore it silently could mean to
	// use another cluster than the user expects.
	if old := filepath.Join(filepath.Dir(user), FileName); user != "" && isFile(old) && !isFile(user) {
		return nil, fmt.Errorf("%s: is not read anymore; rename it to %s", shownPath(old), userFileName)
	}
	if isFile(user) {
		files = append(files, configFile{path: user})
	}
	return files, nil
}

// Beside returns the path of a file that belongs to the repository of the working
// directory, whether it exists or not, relative to the working directory if possible.
// It is beside the repository's pequod.yaml; without one, it is in the root of the git
// repository, or in the working directory where there is none.
func Beside(env command.Env, name string) (string, error) {
	dir, err := directory(env)
	if err != nil {
		return "", err
	}
	home := variable(env, "HOME", "USERPROFILE")
	owners := ownership{uid: ownerOf, self: selves(env)}
	file, err := findConfig(dir, home, owners)
	if err != nil {
		return "", err
	}
	searched := searchPath(dir, home, owners)
	switch last := searched[len(searched)-1]; {
	case file.path != "":
		dir = filepath.Dir(file.path)
	case isGitRoot(last):
		dir = last
	}
	return shownPath(filepath.Join(dir, name)), nil
}

// directory returns the absolute path of the directory whose settings apply.
func directory(env command.Env) (string, error) {
	if env.Dir != "" {
		return filepath.Abs(env.Dir)
	}
	return os.Getwd()
}

// Repository returns the pequod.yaml of the repository that applies, relative to the working
// directory if possible, or "" if there is none.
func Repository(env command.Env) (string, error) {
	dir, err := directory(env)
	if err != nil {
		return "", err
	}
	file, err := findConfig(dir, variable(env, "HOME", "USERPROFILE"), ownership{uid: ownerOf, self: selves(env)})
	if err != nil || file.path == "" {
		return "", err
	}
	return shownPath(file.path), nil
}

// variable returns the first of the variables that is set and not empty.
func variable(env command.Env, names ...string) string {
	for _, name := range names {
		if v, ok := env.Getenv(name); ok && v != "" {
			return v
		}
	}
	return ""
}

// userFile returns the path of the user's own file, whether it exists or not. It
// returns "" without a home directory. As the XDG specification demands, a
// relative $XDG_CONFIG_HOME is ignored.
func userFile(env command.Env, home string) string {
	dir := variable(env, "XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "pequod", userFileName)
}

// isFile reports whether path is a regular file or a link to one. Errors of Stat
// count as a missing file: an unreadable directory above the project must not
// break every command.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// findConfig returns the pequod.yaml in dir or in the nearest directory above it,
// or no file.
func findConfig(dir, home string, owners ownership) (configFile, error) {
	files, err := findConfigs(dir, home, owners, 1)
	if err != nil || len(files) == 0 {
		return configFile{}, err
	}
	return files[0], nil
}

// findConfigs returns the files pequod.yaml in dir and in the directories above it, the
// nearest first, and at most limit of them. The first one of another user ends the search.
func findConfigs(dir, home string, owners ownership, limit int) ([]configFile, error) {
	var files []configFile
	searched := searchPath(dir, home, owners)
	for _, in := range searched {
		path := filepath.Join(in, FileName)
		if len(files) == limit {
			break
		}
		if !isFile(path) {
			continue
		}
		root := in
		if last := searched[len(searched)-1]; isGitRoot(last) {
			root = last
		}
		uid, known := owners.uid(path)
		switch {
		case !owners.trusts(path) && known && owners.owns(uid, dir):
			// The checkout belongs to that user, as in a container that mounts it. Ignoring
			// its configuration silently would change what commands do.
			return nil, fmt.Errorf("%s: belongs to another user; run pequod as that user, or set PEQUOD_TRUST_UID=%d", shownPath(path), uid)
		case !owners.trusts(path):
			return files, nil
		case !inside(root, path):
			return nil, fmt.Errorf("%s: is a link that leads out of the repository", shownPath(path))
		}
		files = append(files, configFile{path: path, repository: root})
	}
	return files, nil
}

// searchPath returns dir and the directories above it that may have the
// configuration of a command in dir. The last one is the root of the git
// repository, the home directory, or the last one before a directory of another
// user, who could otherwise configure the commands of everyone below it.
func searchPath(dir, home string, owners ownership) []string {
	path := []string{dir}
	for above := filepath.Dir(dir); above != dir && dir != home && !isGitRoot(dir) && owners.trusts(above); above = filepath.Dir(dir) {
		dir = above
		path = append(path, dir)
	}
	return path
}

// isGitRoot reports whether dir is the root of a git repository or of a worktree,
// where .git is a file.
func isGitRoot(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// inside reports whether path, with symbolic links followed, is in dir. The last
// elements of path need not exist.
func inside(dir, path string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	for rest := ""; ; {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			rel, err := filepath.Rel(dir, filepath.Join(real, rest))
			return err == nil && filepath.IsLocal(rel)
		}
		// A dangling link exists, but what is created through it may be anywhere.
		if _, err := os.Lstat(path); err == nil || path == filepath.Dir(path) {
			return false
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
}

// ownership decides whose files are trusted.
type ownership struct {
	// uid returns the owner of a file. It returns false if there is no such file or
	// the operating system has no numeric owners.
	uid func(path string) (int, bool)
	// self are the users whose files are trusted. The files of root are trusted,
	// too: root can do anything anyway.
	self []int
}

// trusts reports whether a file belongs to the user or to root. Without numeric
// owners, every file does.
func (o ownership) trusts(path string) bool {
	uid, known := o.uid(path)
	return !known || uid == 0 || slices.Contains(o.self, uid)
}

// owns reports whether uid is the owner of the file at path.
func (o ownership) owns(uid int, path string) bool {
	owner, known := o.uid(path)
	return known && owner == uid
}

// selves returns the user of the process, the user who called sudo, and the user
// in $PEQUOD_TRUST_UID, which is for containers with a mounted checkout.
func selves(env command.Env) []int {
	self := []int{os.Geteuid()}
	for _, name := range []string{"SUDO_UID", "PEQUOD_TRUST_UID"} {
		if uid, err := strconv.Atoi(variable(env, name)); err == nil && (name != "SUDO_UID" || os.Geteuid() == 0) {
			self = append(self, uid)
		}
	}
	return self
}
