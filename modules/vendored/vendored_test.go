package vendored

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cuelang.org/go/mod/modconfig"
	"cuelang.org/go/mod/module"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/lock"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// published are modules by their digests, and the lock that names them.
type published struct {
	lock   lock.File
	images map[string]v1.Image
}

// publish adds a module with a package of the given text. version is "" for an artifact whose
// tag is latest.
func (p *published) publish(path, version, text string) error {
	dir, err := os.MkdirTemp("", "module")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	base, major, _ := strings.Cut(path, "@")
	file := fmt.Sprintf("module: %q\nlanguage: version: \"v0.13.0\"\nsource: kind: \"self\"\n", path)
	if err := writeFile(filepath.Join(dir, "cue.mod", "module.cue"), []byte(file)); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, "sub", "x.cue"), []byte("package x\n"+text)); err != nil {
		return err
	}
	tag := version
	if tag == "" {
		tag = major + ".0.0"
	}
	img, info, err := artifact.Pack(context.Background(), dir, tag)
	if err != nil {
		return err
	}
	_, files, err := artifact.Open(img)
	if err != nil {
		return err
	}
	content, err := lock.Content(files)
	if p.images == nil {
		p.images = map[string]v1.Image{}
	}
	p.images[info.Digest] = img
	p.lock.Modules = append(p.lock.Modules, lock.Module{
		Path: path, Version: version, Ref: "oci://localhost:1/" + base + ":" + tag, Digest: info.Digest, Content: content,
	})
	return err
}

// fetch implements [Fetch].
func (p *published) fetch(_ context.Context, m lock.Module) (v1.Image, error) {
	if img, ok := p.images[m.Digest]; ok {
		return img, nil
	}
	return nil, errors.New("not published")
}

// tree returns all files of a directory with their contents.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	files := os.DirFS(dir)
	check(t, fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		fmt.Fprintf(&b, "%s: %x\n", name, data)
		return err
	}))
	return b.String()
}

// TestCUE checks that CUE's own cache finds the modules without a registry, and writes
// nothing.
func TestCUE(t *testing.T) {
	var p published
	check(t, p.publish("example.com/a/web@v1", "v1.2.0", "a: 1"))
	check(t, p.publish("example.com/a/web@v1", "v1.3.0-RC.1", "a: 2"))
	check(t, p.publish("example.com/b@v0", "", "b: 1"))
	dir := filepath.Join(t.TempDir(), "vendor")
	_, err := Write(t.Context(), dir, &p.lock, p.fetch)
	check(t, err)
	before := tree(t, dir)
	reg, err := modconfig.NewRegistry(&modconfig.Config{Env: []string{"CUE_CACHE_DIR=" + dir, "CUE_REGISTRY=none"}})
	check(t, err)
	unversioned := "v0.0.0-sha256-" + strings.TrimPrefix(p.lock.Modules[2].Digest, "sha256:")[:12]
	for path, text := range map[string]string{
		"example.com/a/web@v1.2.0": "a: 1", "example.com/a/web@v1.3.0-RC.1": "a: 2", "example.com/b@" + unversioned: "b: 1",
	} {
		v := module.MustParseVersion(path)
		file, err := reg.ModFile(t.Context(), v)
		check(t, err)
		if file.QualifiedModule() != v.Path() {
			t.Errorf("%s: module file of %s", path, file.QualifiedModule())
		}
		loc, err := reg.Fetch(t.Context(), v)
		check(t, err)
		data, err := fs.ReadFile(loc.FS, "sub/x.cue")
		if err != nil || !strings.Contains(string(data), text) {
			t.Errorf("%s: %q, %v", path, data, err)
		}
		if _, err := reg.FetchFromCache(v); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if after := tree(t, dir); after != before {
		t.Errorf("CUE changed the directory: %s", after)
	}
}

// TestGet checks that every blob of an artifact is there, and that only the modules of the
// lock are.
func TestGet(t *testing.T) {
	var p published
	check(t, p.publish("example.com/web@v1", "v1.2.0", "a: 1"))
	dir := t.TempDir()
	_, err := Write(t.Context(), dir, &p.lock, p.fetch)
	check(t, err)
	m := p.lock.Modules[0]
	open := func(l lock.File) *Tree {
		tree, err := Open(dir, &l)
		check(t, err)
		return tree
	}
	read := open(p.lock)
	img := p.images[m.Digest]
	raw, err := img.RawManifest()
	check(t, err)
	if data, ok, err := read.Get(m.Digest); !ok || err != nil || string(data) != string(raw) {
		t.Errorf("manifest: %q, %t, %v", data, ok, err)
	}
	layers, err := img.Layers()
	check(t, err)
	for _, l := range layers {
		h, err := l.Digest()
		check(t, err)
		if data, ok, err := read.Get(h.String()); !ok || err != nil || digestOf(data) != h.String() {
			t.Errorf("layer: %d bytes, %t, %v", len(data), ok, err)
		}
	}
	if _, ok, err := read.Get("sha256:" + strings.Repeat("0", 64)); ok || err != nil {
		t.Errorf("unknown digest: %t, %v", ok, err)
	}
	if tree, err := Open(dir, nil); tree.Has(m.Digest) || err != nil {
		t.Errorf("without a lock: %v", err)
	}
	// The version was published again, and the lock has the new digest.
	moved := m
	moved.Digest = "sha256:" + strings.Repeat("1", 64)
	_, _, err = open(lock.File{Modules: []lock.Module{moved}}).Get(moved.Digest)
	if changed := (*ChangedError)(nil); !errors.As(err, &changed) || changed.Got != m.Digest || changed.Want != moved.Digest {
		t.Errorf("moved version: %v", err)
	}
	// A file that is too much changes the module for CUE.
	extra := filepath.Join(dir, "mod", "extract", "example.com", "web@v1.2.0", "sub", "y.cue")
	check(t, os.WriteFile(extra, []byte("package x\n"), 0o600))
	if _, _, err := open(p.lock).Get(m.Digest); !errors.As(err, new(*ChangedError)) {
		t.Errorf("added file: %v", err)
	}
	check(t, os.Remove(extra))
	// A link that leaves the directory is not followed.
	archive := filepath.Join(dir, "mod", "download", "example.com", "web", "@v", "v1.2.0.zip")
	outside := filepath.Join(t.TempDir(), "zip")
	check(t, os.Rename(archive, outside))
	check(t, os.Symlink(outside, archive))
	if err := open(p.lock).Check(); err == nil || !strings.Contains(err.Error(), "v1.2.0.zip") {
		t.Errorf("link: %v", err)
	}
}

// TestTwoArtifacts checks that two artifacts of one version are refused, one artifact with
// two names is not, and revisions of git are left out.
func TestTwoArtifacts(t *testing.T) {
	var p published
	check(t, p.publish("example.com/web@v1", "v1.2.0", "a: 1"))
	twice := p
	latest := p.lock.Modules[0]
	latest.Version, latest.Ref = "", "oci://localhost:1/web:latest"
	git := lock.Module{Ref: "git::https://example.com/a.git?ref=main", Commit: strings.Repeat("a", 40), Content: latest.Content}
	twice.lock.Modules = append(twice.lock.Modules[:1:1], latest, git)
	if changes, err := Write(t.Context(), t.TempDir(), &twice.lock, p.fetch); err != nil || len(changes.Added) != 1 {
		t.Errorf("%+v, %v", changes, err)
	}
	check(t, p.publish("example.com/web@v1", "v1.2.0", "a: 2"))
	_, err := Write(t.Context(), t.TempDir(), &p.lock, p.fetch)
	if err == nil || !strings.Contains(err.Error(), "example.com/web@v1.2.0 has two artifacts") {
		t.Errorf("error %v", err)
	}
}

// killedVariable is the directory that the child process of TestKilledWrite writes.
const killedVariable = "VENDORED_TEST_DIR"

// states are two locks that have one version with different contents, and one module of
// their own each.
func states() (a, b published, err error) {
	err = errors.Join(
		a.publish("example.com/web@v1", "v1.2.0", "a: 1"), a.publish("example.com/a@v1", "v1.0.0", "x: 1"),
		b.publish("example.com/web@v1", "v1.2.0", "a: 2"), b.publish("example.com/b@v1", "v1.0.0", "x: 1"),
	)
	return a, b, err
}

func TestMain(m *testing.M) {
	dir := os.Getenv(killedVariable)
	if dir == "" {
		os.Exit(m.Run())
	}
	a, b, err := states()
	for i := 0; err == nil; i++ {
		p := &a
		if i%2 == 1 {
			p = &b
		}
		if _, err = Write(context.Background(), dir, &p.lock, p.fetch); i == 1 {
			fmt.Println("ready")
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestKilledWrite checks that a process which is killed leaves all modules of one lock: the
// old one or the new one.
func TestKilledWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vendor")
	a, b, err := states()
	check(t, err)
	self, err := os.Executable()
	check(t, err)
	seen := map[string]int{}
	for i := range 50 {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), killedVariable+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		check(t, err)
		check(t, cmd.Start())
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("the child printed %q, %v; %v", line, err, cmd.Wait())
		}
		time.Sleep(time.Duration(i*37%1000) * 10 * time.Microsecond) // a different moment each time
		check(t, cmd.Process.Kill())
		_ = cmd.Wait() // "signal: killed"
		one, err := Open(dir, &a.lock)
		check(t, err)
		other, err := Open(dir, &b.lock)
		check(t, err)
		switch errOne, errOther := one.Check(), other.Check(); {
		case errOne == nil:
			seen["a"]++
		case errOther == nil:
			seen["b"]++
		default:
			t.Fatalf("kill %d: neither lock fits: %v; %v", i, errOne, errOther)
		}
	}
	t.Logf("states after the kills: %v", seen)
	// The next run works, and removes what was left once it is old.
	long := time.Now().Add(-2 * leftAfter)
	left, err := filepath.Glob(filepath.Join(dir, staging+"*"))
	check(t, err)
	for _, name := range left {
		check(t, os.Chtimes(name, long, long))
	}
	for _, p := range []*published{&a, &b} {
		_, err := Write(t.Context(), dir, &p.lock, p.fetch)
		check(t, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, staging+"*")); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}
