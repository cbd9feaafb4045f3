package sides

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/settings"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/review"
)

// Inputs returns the inputs of rendering that differ between two sides: the program, the
// modules with the breaking changes of their definitions, the policies, pequod.lock and
// pequod.yaml. It only uses what rendering has loaded already. An input that can't be read
// is left out: the side then has a failure.
func Inputs(ctx context.Context, env command.Env, base, head *Side) []review.Input {
	var all []review.Input
	if base.Tool != head.Tool {
		all = append(all, review.Input{Kind: review.InputTool, Name: "pequod", Action: objectdiff.Modify, Old: base.Tool, New: head.Tool})
	}
	if base.Output == "" { // committed output is read without modules and policies
		all = append(all, moduleInputs(ctx, base, head)...)
		all = append(all, policyInputs(base, head)...)
	}
	all = append(all, lockInputs(ctx, base, head)...)
	return append(all, settingInputs(env, base, head)...)
}

// inputOf returns the input of two values; one may be empty.
func inputOf(kind review.InputKind, name, before, after string) review.Input {
	in := review.Input{Kind: kind, Name: name, Action: objectdiff.Modify, Old: before, New: after}
	switch {
	case before == "":
		in.Action = objectdiff.Add
	case after == "":
		in.Action = objectdiff.Remove
	}
	return in
}

// lockInputs compares the files pequod.lock.
func lockInputs(ctx context.Context, base, head *Side) []review.Input {
	files := make([]*lock.File, 2)
	for i, s := range []*Side{base, head} {
		file, _, err := s.flags.ReadLock(ctx)
		if err != nil {
			return nil
		}
		files[i] = cmp.Or(file, &lock.File{})
	}
	var all []review.Input
	for _, c := range lock.Compare(files[0], files[1]) {
		before, after := locked(c.Old), locked(c.New)
		name := cmp.Or(c.New, c.Old).Identity()
		in := inputOf(review.InputLock, name, before, after)
		if c.Old != nil && c.New != nil && c.Old.Version == c.New.Version && c.Old.Content != c.New.Content && c.Old.Ref == c.New.Ref {
			in.Notes = append(in.Notes, "the same version has other content: it was published again")
		}
		if c.Old != nil && c.New != nil && c.Old.Signer != c.New.Signer {
			in.Notes = append(in.Notes, fmt.Sprintf("signed by %s, and before by %s", cmp.Or(c.New.Signer, "no checked key"), cmp.Or(c.Old.Signer, "no checked key")))
		}
		all = append(all, in)
	}
	return all
}

// locked returns the version of an entry of pequod.lock with its digest, or "".
func locked(m *lock.Module) string {
	if m == nil {
		return ""
	}
	return strings.TrimSpace(m.Version + " " + short(cmp.Or(m.Digest, m.Commit, m.Content)))
}

// short returns the beginning of a digest, without the name of the hash.
func short(digest string) string {
	_, hex, ok := strings.Cut(digest, ":")
	if !ok {
		hex = digest
	}
	return hex[:min(12, len(hex))]
}

// maxSetting is the largest length of a setting in a report, in bytes.
const maxSetting = 120

// settingInputs compares the keys at the top of the files pequod.yaml.
func settingInputs(env command.Env, base, head *Side) []review.Input {
	was, err := readSettings(env, base)
	if err != nil {
		return nil
	}
	is, err := readSettings(env, head)
	if err != nil {
		return nil
	}
	var names []string
	for name := range was {
		names = append(names, name)
	}
	for name := range is {
		names = append(names, name)
	}
	slices.Sort(names)
	var all []review.Input
	for _, name := range slices.Compact(names) {
		if was[name] == is[name] {
			continue
		}
		in := inputOf(review.InputSetting, name, was[name], is[name])
		if name == settings.AllowKey || name == settings.VerifyKey {
			in.Notes = append(in.Notes, "decides which modules may be used")
		}
		all = append(all, in)
	}
	return all
}

// readSettings returns the values of a pequod.yaml as JSON-like text, by their keys.
func readSettings(env command.Env, s *Side) (map[string]string, error) {
	env.Dir = s.Checkout.Dir()
	name, err := settings.Repository(env)
	if err != nil || name == "" {
		return nil, err
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var values map[string]yaml.Node
	if err := yaml.Unmarshal(data, &values); err != nil {
		return nil, errors.Join(err)
	}
	texts := map[string]string{}
	for key, node := range values {
		var v any
		if err := node.Decode(&v); err != nil {
			return nil, err
		}
		texts[key] = source.OneLine(fmt.Sprint(v), maxSetting)
	}
	return texts, nil
}
