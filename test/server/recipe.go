package server

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/modfile"
)

// recipe is everything that a build of the nested module depends on. Two
// checkouts with the same recipe have the same binary.
type recipe struct {
	dir        string
	modfile    string // relative to dir: "go.mod" or, for another minor version, "versions/1.37.mod"
	kubernetes string // version, "v1.36.3"
	// key is the beginning of a hash of the sources, the flags, the Go version
	// and the system, as 12 hexadecimal digits. It is part of the binary's name.
	key string
}

// flags returns the flags of the go command. They are the same for every build,
// so that all builds share the cache. Kubernetes refuses to start without its
// version, which only the linker can set.
func (r recipe) flags() []string {
	const pkg = "k8s.io/component-base/version."
	numbers := strings.Split(strings.TrimPrefix(r.kubernetes, "v"), ".")
	values := []string{"-s -w", "gitVersion=" + r.kubernetes, "gitMajor=" + numbers[0], "gitMinor=" + numbers[1], "gitTreeState=clean"}
	return []string{"-buildvcs=false", "-modfile=" + r.modfile, "-ldflags", strings.Join(values, " -X "+pkg)}
}

// environment returns the environment of the go command without the user's own Go
// settings, which would change the build. The build needs no C compiler.
func environment() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
}

// readRecipe hashes the nested module and reads the Kubernetes version from its
// go.mod, or from the one for another minor version, such as "1.37". It hashes that
// file, its go.sum and all Go files except tests. Dependencies need no hash of their
// own, as go.sum has theirs. The length of each file is hashed before its content, so
// that moving text from one file to the next changes the key.
func readRecipe(dir, minor string) (recipe, error) {
	r := recipe{dir: dir, modfile: "go.mod"}
	data, err := os.ReadFile(filepath.Join(dir, r.modfile))
	if err != nil {
		return r, err
	}
	if r.kubernetes, err = required(data, "k8s.io/kubernetes"); err != nil {
		return r, err
	}
	if minor != "" && minor != r.minor() {
		r.modfile = filepath.Join("versions", minor+".mod")
		data, err := os.ReadFile(filepath.Join(dir, r.modfile))
		if errors.Is(err, fs.ErrNotExist) {
			return r, fmt.Errorf("%s=%s: no such version: %s has %s, and %s is the default",
				Version, minor, filepath.Join(source, "versions"), strings.Join(otherVersions(dir), ", "), r.minor())
		}
		if err != nil {
			return r, err
		}
		if r.kubernetes, err = required(data, "k8s.io/kubernetes"); err != nil {
			return r, err
		}
	}
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH, r.flags())
	add := func(path string) error {
		data, err := os.ReadFile(filepath.Join(dir, path))
		fmt.Fprintf(hash, "%s %d\n%s", path, len(data), data)
		return err
	}
	for _, path := range []string{r.modfile, strings.TrimSuffix(r.modfile, ".mod") + ".sum"} {
		if err := add(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		if err != nil || entry.IsDir() || strings.HasSuffix(name, "_test.go") || !strings.HasSuffix(name, ".go") {
			return err
		}
		return add(path[len(dir)+1:])
	})
	r.key = fmt.Sprintf("%x", hash.Sum(nil)[:6])
	return r, err
}

// minor returns the version without its last number: "1.36".
func (r recipe) minor() string {
	return strings.TrimPrefix(r.kubernetes[:strings.LastIndexByte(r.kubernetes, '.')], "v")
}

// otherVersions returns the minor versions besides the default, in order.
func otherVersions(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, "versions", "*.mod")) // the pattern is valid
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), ".mod")
	}
	return files
}

// required returns the version of a module that a go.mod requires.
func required(gomod []byte, path string) (string, error) {
	file, err := modfile.ParseLax("go.mod", gomod, nil)
	if err != nil {
		return "", err
	}
	for _, require := range file.Require {
		if require.Mod.Path == path {
			return require.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("go.mod: %s: not required", path)
}

// Checkout returns the root of this module from the working directory, which is in it.
func Checkout() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return checkout(here)
}

// checkout returns the root of this module: begin or a directory above it. The
// nested module has a go.mod with another path, so the search goes on above it.
func checkout(begin string) (string, error) {
	for dir := begin; ; dir = filepath.Dir(dir) {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && modfile.ModulePath(data) == module {
			return dir, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("test cluster: %s: not in a checkout of %s", begin, module)
		}
	}
}
