package distribute

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/cli/command"
)

// withoutEffect are the flags of push that don't change the content of a bundle, or that
// its annotations record.
var withoutEffect = []string{
	"allow-dirty", "dry-run", "eval-memory", "eval-timeout", "force", "locked", "offline", "provenance",
	"registry-ca-file", "registry-plain-http", "revision", "sign-key", "source",
}

// TestParameters checks that the provenance of a bundle has every flag that changes its
// content: a new flag of push has to be in one of the lists.
func TestParameters(t *testing.T) {
	cmd := newBundlePushCommand(command.Env{})
	known := slices.Concat(fileParameters, otherParameters, withoutEffect)
	seen := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		seen[f.Name] = true
		if !slices.Contains(known, f.Name) {
			t.Errorf("--%s: does it change the content of a bundle?", f.Name)
		}
	})
	for _, name := range known {
		if !seen[name] {
			t.Errorf("push has no flag --%s", name)
		}
	}
}

// TestHostileParameters checks that a statement can't make the command read files outside
// of the repository, or set flags that don't decide about the content.
func TestHostileParameters(t *testing.T) {
	at := checkout{base: "/repo", wd: "/repo/sub"}
	for want, parameters := range map[string]map[string]any{
		`--filename: "../etc/passwd" leads out of the repository`:                                         {"filename": []any{"../etc/passwd"}},
		`--filename: "/etc/passwd" leads out of the repository`:                                           {"filename": []any{"/etc/passwd"}},
		`--crd: "a/../../b" leads out of the repository`:                                                  {"crd": "a/../../b"},
		`--platform: "/etc" leads out of the repository`:                                                  {"platform": []any{"oci-layout:/etc:v1"}},
		`--policy: "git::file:///etc" is a place on another machine`:                                      {"policy": []any{"git::file:///etc"}},
		`--platform: "../x" leads out of the repository`:                                                  {"platform": []any{"main:../x"}},
		`the provenance has the parameter "registry-ca-file", which this version of pequod does not know`: {"registry-ca-file": "x"},
		`the provenance has the parameter "output-dir", which this version of pequod does not know`:       {"output-dir": "x"},
		`--platform: shop was outside of the repository, so the bundle can't be rendered again`:           {"platform": []any{"outside:shop"}},
	} {
		cmd, _ := newPush(command.Env{})
		if err := at.setParameters(cmd.Flags(), parameters); err == nil || err.Error() != want {
			t.Errorf("%v: error\n  %v, want\n  %s", parameters, err, want)
		}
	}
	cmd, o := newPush(command.Env{})
	if err := at.setParameters(cmd.Flags(), map[string]any{"filename": []any{"apps", "-"}, "platform": []any{"sub/shop", "oci-layout:sub/l:v1", "oci://example.com/a:v1"}, "crds": true}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"../apps", "-"}; !slices.Equal(o.Filenames, want) || !o.withCRDs {
		t.Errorf("-f %q", o.Filenames)
	}
	if want := []string{"shop", "oci-layout:l:v1", "oci://example.com/a:v1"}; !slices.Equal(o.Platforms, want) {
		t.Errorf("-p %q", o.Platforms)
	}
}
