package modules_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/render"
)

// script returns the shell script that a case's node runs, with the directories of
// its container moved below dir.
func script(t *testing.T, instance, node, dir string) string {
	t.Helper()
	p := moduleIn(t, filepath.Dir(filepath.Dir(instance)))
	res := rendered(t, filepath.Join(instance, "instance.yaml"), func(*render.Instance) *render.Platform { return p })[0]
	if res.Graph == nil {
		t.Fatal(res.Problems)
	}
	for _, n := range res.Graph.Spec.Graph.Nodes {
		if n.ID != node {
			continue
		}
		pod, _ := podSpec(object(t, n))
		below := strings.NewReplacer("/backup", dir+"/backup", "/target/", dir+"/target/", "/tmp/", dir+"/tmp/")
		return below.Replace(pod.Containers[0].Command[2])
	}
	t.Fatalf("%s: no node %s", instance, node)
	return ""
}

// sandbox returns a directory with the commands that a script calls, in bin, and the
// given directories of its container.
func sandbox(t *testing.T, commands map[string]string, dirs ...string) string {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell")
	}
	dir := t.TempDir()
	for _, d := range append(dirs, "bin", "tmp") {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	commands["date"] = `echo "$NOW"`
	for name, body := range commands {
		if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte("#!/bin/sh\nset -eu\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run runs a script with the given current time.
func run(t *testing.T, text, dir, now string, env ...string) error {
	t.Helper()
	cmd := exec.Command("sh", "-c", text)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "NOW=" + now, "DIR=" + dir}, env...)
	out, err := cmd.CombinedOutput()
	if len(out) > 0 {
		t.Logf("%s: %s", now, out)
	}
	return err
}

func at(day int) string { return fmt.Sprintf("202601%02dT030000Z", day) }

// days returns the names of the backups of consecutive days.
func days(format string, from, to int) []string {
	var names []string
	for d := from; d <= to; d++ {
		names = append(names, fmt.Sprintf(format, at(d)))
	}
	return names
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func listed(t *testing.T, when, dir string, want []string) {
	t.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, list(t, dir)); diff != "" {
		t.Errorf("%s (-want +got)\n%s", when, diff)
	}
}

func TestBackupToVolume(t *testing.T) {
	dir := sandbox(t, map[string]string{"cp": `[ -z "${FULL-}" ] || { mkdir "$3"; exit 1; }; exec /bin/cp "$@"`}, "backup", "target")
	text := script(t, "platform/backup/tests/once", "backup", dir)
	if err := os.WriteFile(filepath.Join(dir, "backup", "data.tar.gz"), []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	for d := 1; d <= 9; d++ {
		if err := run(t, text, dir, at(d)); err != nil {
			t.Fatal(err)
		}
	}
	stored := filepath.Join(dir, "target", "uploads")
	listed(t, "the newest seven stay", stored, days("%s", 3, 9))
	listed(t, "each is whole", filepath.Join(stored, at(9)), []string{"data.tar.gz"})

	if err := run(t, text, dir, at(10), "FULL=1"); err == nil {
		t.Error("a full volume is no failure")
	}
	listed(t, "a failed backup takes none away", stored, append(days("%s", 3, 9), at(10)+".part"))
	if err := run(t, text, dir, at(11)); err != nil {
		t.Fatal(err)
	}
	listed(t, "what a failed one left behind goes", stored, append(days("%s", 4, 9), at(11)))
}

// rclone replaces the real program. The bucket is a directory.
const rclone = `
verb="$1"; shift
dirs=; args=
for a in "$@"; do
  case "$a" in
  --dirs-only) dirs=1 ;;
  --*) ;;
  target:*) args="$args $DIR/${a#target:}" ;;
  *) args="$args $a" ;;
  esac
done
[ "$verb" != "${BROKEN-}" ] || exit 1
set -- $args
case "$verb" in
copy) mkdir -p "$2"; cp "$1"/* "$2" ;;
rcat) mkdir -p "$(dirname "$1")"; cat >"$1" ;;
lsf) if [ -n "$dirs" ]; then ls -1p "$1" | grep /; else ls -1p "$1"; fi ;;
purge) rm -r "$1" ;;
deletefile) rm "$1" ;;
*) exit 2 ;;
esac`

func TestBackupToBucket(t *testing.T) {
	dir := sandbox(t, map[string]string{"rclone": rclone}, "backup", "example-backups/databases/orders/other")
	text := script(t, "platform/backup/tests/scheduled-bucket", "backup", dir)
	if err := os.WriteFile(filepath.Join(dir, "backup", "orders.dump"), []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	stored := filepath.Join(dir, "example-backups", "databases", "orders")
	for d := 1; d <= 9; d++ {
		if err := run(t, text, dir, at(d)); err != nil {
			t.Fatal(err)
		}
	}
	listed(t, "the newest seven stay, and what isn't a backup", stored, append(days("%s", 3, 9), "complete", "other"))
	listed(t, "complete ones are marked", filepath.Join(stored, "complete"), days("%s", 3, 9))

	if err := run(t, text, dir, at(10), "BROKEN=rcat"); err == nil {
		t.Error("a bucket that takes no marker is no failure")
	}
	listed(t, "a failed backup takes none away", stored, append(days("%s", 3, 10), "complete", "other"))
	if err := run(t, text, dir, at(11), "BROKEN=lsf"); err == nil {
		t.Error("a bucket that can't be listed is no failure")
	}
	listed(t, "without a list nothing is removed", stored, append(days("%s", 3, 11), "complete", "other"))
	if err := run(t, text, dir, at(12)); err != nil {
		t.Fatal(err)
	}
	listed(t, "what a failed one left behind goes", stored, append(days("%s", 5, 9), at(11), at(12), "complete", "other"))
}

func TestDatabaseBackup(t *testing.T) {
	for _, engine := range []struct{ name, extension, option, dump string }{
		{"postgres", "dump", "--file=", "pg_dump"},
		{"mysql", "sql.gz", "--result-file=", "mysqldump"},
	} {
		t.Run(engine.name, func(t *testing.T) {
			dump := `for a in "$@"; do case "$a" in ` + engine.option + `*) echo data >"${a#` + engine.option + `}" ;; esac; done
[ -z "${BROKEN-}" ]`
			dir := sandbox(t, map[string]string{engine.dump: dump}, "backup")
			text := script(t, "platform/database/tests/"+engine.name, "backup", dir)
			database, keep := "app", 7
			if engine.name == "postgres" {
				database, keep = "orders", 28
			}
			format := database + "-%s." + engine.extension
			env := []string{"PASSWORD=x", "HOST=h", "DATABASE=d"}
			for d := 1; d <= 30; d++ {
				if err := run(t, text, dir, at(d), env...); err != nil {
					t.Fatal(err)
				}
			}
			stored := filepath.Join(dir, "backup")
			listed(t, "the newest stay", stored, days(format, 31-keep, 30))
			if err := run(t, text, dir, at(31), append(env, "BROKEN=1")...); err == nil {
				t.Error("a dump that fails is no failure")
			}
			listed(t, "a failed backup takes none away and leaves nothing", stored, days(format, 31-keep, 30))
		})
	}
}
