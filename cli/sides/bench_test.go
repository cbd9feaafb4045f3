package sides_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pequod-io/pequod/cli"
)

// BenchmarkReview reviews a branch with 1,000 instances: one instance that changes, and all
// of them. It prints the CPU time of both sides and of the report.
func BenchmarkReview(b *testing.B) {
	for _, test := range []struct{ name, files string }{{"one", "app-1.yaml"}, {"all", "*.yaml"}} {
		b.Run(test.name, func(b *testing.B) {
			dir := repository(b, 1000)
			changed, err := filepath.Glob(filepath.Join(dir, "apps", test.files))
			if err != nil {
				b.Fatal(err)
			}
			for _, file := range changed {
				data, err := os.ReadFile(file)
				if err == nil {
					err = os.WriteFile(file, []byte(strings.ReplaceAll(string(data), ":1.4.0", ":1.5.0")), 0o600)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.Chdir(dir)
			var cpu time.Duration
			for b.Loop() {
				before := cpuTime(b)
				cmd := cli.Command()
				cmd.SetArgs([]string{"review", "-f", "apps"})
				cmd.SetOut(io.Discard)
				if err := cmd.ExecuteContext(b.Context()); err != nil {
					b.Fatal(err)
				}
				cpu += cpuTime(b) - before
			}
			b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

// cpuTime returns the CPU time of the process and of its children, which run git.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return sum
}

// repository returns a repository with n instances of an embedded module.
func repository(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "apps"), 0o700); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		text := fmt.Sprintf("apiVersion: pequod.io/v1alpha1\nkind: WebService\nmetadata: {name: app-%d, namespace: ns%d}\nspec: {image: \"ghcr.io/shop/app:1.4.0\", port: 8080}\n", i, i%20)
		if err := os.WriteFile(filepath.Join(dir, "apps", fmt.Sprintf("app-%d.yaml", i)), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "base"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	return dir
}
