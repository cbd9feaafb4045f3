package settings_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/cli"
	"github.com/pequod-io/pequod/cli/settings"
)

// userFlags are the flags that only the user may set: on the command line, in the
// environment or in the user's own pequod.yaml.
var userFlags = []string{
	// The cluster, and the identity to use there. A kubeconfig can run commands.
	"as", "as-group", "as-uid", "as-user-extra", "cache-dir", "certificate-authority", "client-certificate", "client-key",
	"cluster", "context", "disable-compression", "insecure-skip-tls-verify", "kubeconfig", "proxy-url", "request-timeout",
	"server", "tls-server-name", "token", "user",
	// Consent to what is otherwise refused or asked.
	"allow-empty", "allow-escalation", "allow-secrets", "cascade", "force-conflicts", "orphan", "orphan-graphs", "update", "write", "write-metadata", "yes",
	"allow-dirty", "force", "provenance", "rerender",
	// The origin that a bundle names.
	"revision", "source",
	// Inventories whose objects are taken over, and artifacts that are copied.
	"from", "all-versions", "lock",
	// The trust in registries and in what they have.
	"certificate-identity", "certificate-identity-regexp", "certificate-oidc-issuer", "certificate-oidc-issuer-regexp", "key",
	"locked", "offline", "registry-ca-file", "registry-plain-http", "sign-key", "trusted-root", "upgrade",
	// A chart is rendered by another program, and the files become a module.
	"from-chart", "from-crd", "from-embedded", "from-manifests",
	// The program that is installed in a cluster, its protection, and rights that are
	// granted.
	"applier", "check-authors", "constrained", "for-cli", "image", "mode", "network-policy", "watch-secrets", "webhooks",
	// What is posted under the account of a pipeline.
	"label-prefix", "name", "no-post", "plain", "review",
	// A check in place of the work: an output that is never written looks up to date.
	"check",
	// The yardstick of a review, which the change under review must not choose.
	"base", "base-output", "fail-on", "link", "live", "report", "tool", "source-link",
	// What a server lets its client do, and what a command may do.
	"allow-cluster", "allow-network", "confine",
	// Where a page is served, and the program that is started for it.
	"address", "open", "port",
	// What one question is about, and instances that are edited.
	"api-version", "max-depth", "modeline",
	// A server of Actions that is checked, and recorded answers of an application.
	"ca-file", "inputs", "poll-interval", "state", "token-file",
	// Where history is read, and how much of it.
	"all", "history-url-file", "since",
	// The hosts that an installed program may connect to.
	"allow-egress",
	// Not of pequod.yaml at all.
	"help", "no-descriptions", "version",
}

// TestEveryFlagIsClassified checks that every flag of every command is either one
// that a repository may set or one that only the user may set, so that a new flag
// needs a decision.
func TestEveryFlagIsClassified(t *testing.T) {
	exist := map[string]bool{}
	root := cli.Command()
	root.InitDefaultCompletionCmd()
	visitFlags(root, func(cmd *cobra.Command, f *pflag.Flag) {
		exist[f.Name] = true
		if repository, user := slices.Contains(settings.RepositoryFlags, f.Name), slices.Contains(userFlags, f.Name); repository == user {
			t.Errorf("%s --%s: repository %t, user %t; want one of them", cmd.CommandPath(), f.Name, repository, user)
		}
	})
	for _, name := range slices.Concat(settings.RepositoryFlags, userFlags) {
		if !exist[name] {
			t.Errorf("no command has the flag --%s", name)
		}
	}
}

// aboutFiles are flags that mention files and name none, or name them in the form FORMAT=FILE.
var aboutFiles = []string{"dry-run", "layout", "output", "report", "selector", "source-link"}

// TestEveryPathIsKnown checks that pathFlags lists every flag that takes the name of a file or directory, according
// to its help.
func TestEveryPathIsKnown(t *testing.T) {
	names := regexp.MustCompile(`\b(files?|director(y|ies)|path|PEM)\b`)
	mention := map[string]bool{}
	visitFlags(cli.Command(), func(cmd *cobra.Command, f *pflag.Flag) {
		if f.Value.Type() != "string" && f.Value.Type() != "stringArray" || !names.MatchString(f.Usage) {
			return
		}
		mention[f.Name] = true
		if path, other := slices.Contains(settings.PathFlags, f.Name), slices.Contains(aboutFiles, f.Name); path == other {
			t.Errorf("%s --%s: a path %t, something else %t; want one of them", cmd.CommandPath(), f.Name, path, other)
		}
	})
	for _, name := range aboutFiles {
		if !mention[name] {
			t.Errorf("no help of a flag --%s mentions files", name)
		}
	}
}

// visitFlags calls visit for every flag of cmd and of the commands below it.
func visitFlags(cmd *cobra.Command, visit func(*cobra.Command, *pflag.Flag)) {
	cmd.InitDefaultHelpFlag()
	cmd.Flags().VisitAll(func(f *pflag.Flag) { visit(cmd, f) })
	for _, sub := range cmd.Commands() {
		visitFlags(sub, visit)
	}
}

// TestFlagsAgreeInType checks that flags of one name have one type, so that a key at
// the top level of a file suits all commands. The sources of adopt and of history have
// nothing in common but their name, so no key suits both.
func TestFlagsAgreeInType(t *testing.T) {
	types := map[string]string{}
	visitFlags(cli.Command(), func(cmd *cobra.Command, f *pflag.Flag) {
		if cmd.Name() == "history" && f.Name == "from" {
			return
		}
		if before, seen := types[f.Name]; seen && before != f.Value.Type() {
			t.Errorf("%s --%s: a %s, and a %s elsewhere", cmd.CommandPath(), f.Name, f.Value.Type(), before)
		}
		types[f.Name] = f.Value.Type()
	})
}

// TestCheckKeepsValues checks that the check of a file's types leaves every flag as
// it is, also one that has been set on the command line.
func TestCheckKeepsValues(t *testing.T) {
	visitFlags(cli.Command(), func(cmd *cobra.Command, f *pflag.Flag) {
		other := map[string]string{"bool": "true", "int": "7", "duration": "7s"}[f.Value.Type()]
		if other == "" {
			other = "a,b"
		}
		for _, given := range []string{"", other} {
			if given != "" {
				check(t, cmd.Flags().Set(f.Name, given))
			}
			before := f.Value.String()
			check(t, settings.CheckType(f, []string{other}, ""))
			if after := f.Value.String(); after != before {
				t.Errorf("%s --%s: %q, then %q", cmd.CommandPath(), f.Name, before, after)
			}
		}
	})
}

// TestFindConfig checks where the search for the file of a repository ends. The
// owners are invented, because only root can create files of other users.
func TestFindConfig(t *testing.T) {
	const me, other = 1000, 2000
	for name, test := range map[string]struct {
		files   []string       // directories end with a slash
		links   [][2]string    // target, then name
		dir     string         // the working directory
		owners  map[string]int // of files that belong neither to root nor to me
		want    string         // the file
		root    string         // the directory that its paths must stay in
		wantErr string
	}{
		"here":               {files: []string{"home/repo/pequod.yaml"}, dir: "home/repo", want: "home/repo/pequod.yaml", root: "home/repo"},
		"above":              {files: []string{"home/repo/pequod.yaml", "home/repo/a/b/"}, dir: "home/repo/a/b", want: "home/repo/pequod.yaml", root: "home/repo"},
		"below the git root": {files: []string{"home/repo/.git/", "home/repo/a/pequod.yaml", "home/repo/a/b/"}, dir: "home/repo/a/b", want: "home/repo/a/pequod.yaml", root: "home/repo"},
		"in the git root":    {files: []string{"home/repo/.git/", "home/repo/pequod.yaml", "home/repo/a/"}, dir: "home/repo/a", want: "home/repo/pequod.yaml", root: "home/repo"},
		"above the git root": {files: []string{"home/pequod.yaml", "home/repo/.git/", "home/repo/a/"}, dir: "home/repo/a"},
		"above a worktree":   {files: []string{"home/pequod.yaml", "home/repo/.git", "home/repo/a/"}, dir: "home/repo/a"},
		"in the home":        {files: []string{"home/pequod.yaml", "home/repo/"}, dir: "home/repo", want: "home/pequod.yaml", root: "home"},
		"above the home":     {files: []string{"pequod.yaml", "home/repo/"}, dir: "home/repo"},
		"of root":            {files: []string{"shared/pequod.yaml", "shared/x/"}, dir: "shared/x", owners: map[string]int{"shared": 0, "shared/pequod.yaml": 0}, want: "shared/pequod.yaml", root: "shared"},
		"file of another": {files: []string{"shared/pequod.yaml", "shared/x/"}, dir: "shared/x", owners: map[string]int{"shared/pequod.yaml": other},
			wantErr: "shared/pequod.yaml: belongs to another user; run pequod as that user, or set PEQUOD_TRUST_UID=2000 if you trust them"},
		"directory of another": {files: []string{"shared/pequod.yaml", "shared/x/"}, dir: "shared/x", owners: map[string]int{"shared": other}, want: "shared/pequod.yaml", root: "shared"},
		"checkout of another": {files: []string{"ci/.git/", "ci/pequod.yaml"}, dir: "ci", owners: map[string]int{"ci": other, "ci/pequod.yaml": other},
			wantErr: "ci/pequod.yaml: belongs to another user; run pequod as that user, or set PEQUOD_TRUST_UID=2000 if you trust them"},
		"below a checkout of another": {files: []string{"ci/.git/", "ci/pequod.yaml", "ci/a/b/"}, dir: "ci/a/b",
			owners:  map[string]int{"ci": other, "ci/.git": other, "ci/pequod.yaml": other, "ci/a": other, "ci/a/b": other},
			wantErr: "ci/pequod.yaml: belongs to another user; run pequod as that user, or set PEQUOD_TRUST_UID=2000 if you trust them"},
		"git root of another hides nothing": {files: []string{"repo/.git/", "repo/pequod.yaml", "repo/open/.git/", "repo/open/x/"}, dir: "repo/open/x",
			owners: map[string]int{"repo/open/.git": other}, want: "repo/pequod.yaml", root: "repo"},
		"git root of another":   {files: []string{"ci/.git/", "ci/a/pequod.yaml"}, dir: "ci/a", owners: map[string]int{"ci": other, "ci/.git": other}, want: "ci/a/pequod.yaml", root: "ci"},
		"above another's, mine": {files: []string{"pequod.yaml", "mine/.git/", "mine/x/"}, dir: "mine/x", owners: map[string]int{"pequod.yaml": other}},
		"directory":             {files: []string{"repo/pequod.yaml/"}, dir: "repo", wantErr: "repo/pequod.yaml: is not a file"},
		"link to nothing":       {files: []string{"repo/.git/"}, links: [][2]string{{"x.yaml", "repo/pequod.yaml"}}, dir: "repo", wantErr: "TOP/repo/pequod.yaml: no such file or directory"},
		"link inside":           {files: []string{"repo/.git/", "repo/a/", "repo/b.yaml"}, links: [][2]string{{"../b.yaml", "repo/a/pequod.yaml"}}, dir: "repo/a", want: "repo/a/pequod.yaml", root: "repo"},
		"link out":              {files: []string{"repo/.git/", "b.yaml"}, links: [][2]string{{"../b.yaml", "repo/pequod.yaml"}}, dir: "repo", wantErr: "repo/pequod.yaml: is a link that leads out of the repository"},
		"link of another": {files: []string{"shared/x/", "home/b.yaml"}, links: [][2]string{{"../home/b.yaml", "shared/pequod.yaml"}}, dir: "shared/x", owners: map[string]int{"shared/pequod.yaml": other},
			wantErr: "shared/pequod.yaml: belongs to another user; run pequod as that user, or set PEQUOD_TRUST_UID=2000 if you trust them"},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			at := func(name string) string { return filepath.Join(top, filepath.FromSlash(name)) }
			for _, f := range test.files {
				if f[len(f)-1] == '/' {
					check(t, os.MkdirAll(at(f), 0o755))
					continue
				}
				check(t, os.MkdirAll(filepath.Dir(at(f)), 0o755))
				check(t, os.WriteFile(at(f), nil, 0o600))
			}
			for _, l := range test.links {
				check(t, os.Symlink(filepath.FromSlash(l[0]), at(l[1])))
			}
			t.Chdir(top)
			owner := func(path string) (int, bool) {
				rel, err := filepath.Rel(top, path)
				check(t, err)
				if uid, ok := test.owners[filepath.ToSlash(rel)]; ok {
					return uid, true
				}
				return me, true
			}
			file, root, err := settings.FindConfig(at(test.dir), at("home"), me, owner)
			if got := strings.ReplaceAll(message(err), filepath.ToSlash(top), "TOP"); got != test.wantErr {
				t.Fatalf("error %q; want %q", got, test.wantErr)
			}
			if want := absent(at, test.want); file != want {
				t.Errorf("file %q; want %q", file, want)
			}
			if want := absent(at, test.root); root != want {
				t.Errorf("root %q; want %q", root, want)
			}
		})
	}
}

func absent(at func(string) string, name string) string {
	if name == "" {
		return ""
	}
	return at(name)
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
