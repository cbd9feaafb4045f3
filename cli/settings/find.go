package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

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
	above, err := placeOf(env)
	if err != nil {
		return nil, err
	}
	files, err := above.configs(1)
	if err != nil {
		return nil, err
	}
	user, err := userFile(env)
	if user != "" {
		files = append(files, configFile{path: user})
	}
	return files, err
}

// Beside returns the path of a file that belongs to the repository of the working
// directory, whether it exists or not, relative to the working directory if possible.
// It is beside the repository's pequod.yaml; without one, it is in the root of the git
// repository, or in the working directory where there is none.
func Beside(env command.Env, name string) (string, error) {
	above, err := placeOf(env)
	if err != nil {
		return "", err
	}
	files, err := above.configs(1)
	if err != nil {
		return "", err
	}
	dir := above.searched[0]
	switch {
	case len(files) > 0:
		dir = filepath.Dir(files[0].path)
	case above.root != "":
		dir = above.root
	}
	// A file of another user may be nearer, in a repository that the search went on above.
	for _, in := range above.searched {
		if _, err := above.own(filepath.Join(in, name)); err != nil {
			return "", err
		}
		if in == dir {
			break
		}
	}
	return shownPath(filepath.Join(dir, name)), nil
}

// Repository returns the pequod.yaml of the repository that applies, relative to the working
// directory if possible, or "" if there is none.
func Repository(env command.Env) (string, error) {
	above, err := placeOf(env)
	if err != nil {
		return "", err
	}
	files, err := above.configs(1)
	if err != nil || len(files) == 0 {
		return "", err
	}
	return shownPath(files[0].path), nil
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

// userFile returns the path of the user's own file, or "" if there is none or no home
// directory. As the XDG specification demands, a relative $XDG_CONFIG_HOME is ignored.
func userFile(env command.Env) (string, error) {
	dir := variable(env, "XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := variable(env, "HOME", "USERPROFILE")
		if home == "" {
			return "", nil
		}
		dir = filepath.Join(home, ".config")
	}
	user := filepath.Join(dir, "pequod", userFileName)
	exists, err := isFile(user)
	if err != nil {
		return "", fmt.Errorf("%w; set HOME or XDG_CONFIG_HOME to a directory of your own", err)
	}
	if exists {
		return user, nil
	}
	// Earlier versions read a file of another name. To ignore it silently could mean to
	// use another cluster than the user expects.
	old := filepath.Join(filepath.Dir(user), FileName)
	if exists, err = isFile(old); exists {
		err = fmt.Errorf("%s: is not read anymore; rename it to %s", shownPath(old), userFileName)
	}
	return "", err
}

// isFile reports whether path is a file or a link to one. A directory of that name and a dangling
// link are errors, and so is a directory that can't be searched: commands must not run
// without settings that they may have.
func isFile(path string) (bool, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return false, command.FileError(err)
	}
	if info.IsDir() {
		return false, fmt.Errorf("%s: is not a file", shownPath(path))
	}
	return true, nil
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
