package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/sign"
	"github.com/pequod-io/pequod/modules/trust"
)

// The keys of rules about modules.
const (
	AllowKey  = "allow-modules"
	VerifyKey = "verify"
)

// isRule reports whether a key at the top level of a file is about modules.
func isRule(key string) bool { return key == AllowKey || key == VerifyKey }

// Rules returns the rules about modules of every pequod.yaml in the working directory and
// above it, and of the user's own file. Unlike a flag, no rule takes precedence over
// another: a directory of a repository can't weaken the rules of its root.
func Rules(env command.Env) ([]trust.Rules, error) {
	above, err := placeOf(env)
	if err != nil {
		return nil, err
	}
	files, err := above.configs(-1)
	if err != nil {
		return nil, err
	}
	user, err := userFile(env)
	if err != nil {
		return nil, err
	}
	if user != "" {
		files = append(files, configFile{path: user})
	}
	var all []trust.Rules
	for _, file := range files {
		rules, err := readRules(file)
		if err != nil {
			return nil, err
		}
		if rules.Allow != nil || len(rules.Verify) > 0 {
			all = append(all, rules)
		}
	}
	return all, nil
}

// readRules returns the rules in a file, whose other keys it ignores.
func readRules(file configFile) (trust.Rules, error) {
	var rules trust.Rules
	data, err := os.ReadFile(file.path)
	if err != nil {
		return rules, command.FileError(err)
	}
	c := &configReader{file: shownPath(file.path), from: file}
	doc, err := parse(c.file, data)
	if err != nil || doc == nil || doc.Kind != yaml.MappingNode {
		return rules, err
	}
	for i := 0; i+1 < len(doc.Content); i += 2 {
		if k := doc.Content[i]; isRule(k.Value) {
			if err := c.rule(&rules, k, doc.Content[i+1]); err != nil {
				return rules, err
			}
		}
	}
	return rules, nil
}

// rule reads the value of a key for which isRule is true.
func (c *configReader) rule(rules *trust.Rules, k, v *yaml.Node) error {
	if k.Value == AllowKey {
		patterns, err := c.patterns(AllowKey, v)
		if rules.Allow != nil {
			err = fmt.Errorf("%s: key %q given twice", c.at(k), AllowKey)
		}
		rules.Allow, rules.At = patterns, c.position(k)
		return err
	}
	if v.Kind != yaml.SequenceNode {
		return fmt.Errorf("%s: %s must be a list of rules", c.at(v), VerifyKey)
	}
	if len(rules.Verify) > 0 {
		return fmt.Errorf("%s: key %q given twice", c.at(k), VerifyKey)
	}
	for _, item := range v.Content {
		rule, err := c.verifyRule(item)
		if err != nil {
			return err
		}
		rules.Verify = append(rules.Verify, rule)
	}
	return nil
}

// patterns reads a list of patterns of modules. An empty one is not nil.
func (c *configReader) patterns(key string, v *yaml.Node) ([]string, error) {
	if v.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("%s: %s must be a list of patterns such as ghcr.io/acme/*", c.at(v), key)
	}
	patterns := []string{}
	for _, item := range v.Content {
		if item.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("%s: %s must be a list of patterns such as ghcr.io/acme/*", c.at(item), key)
		}
		if err := trust.CheckPattern(item.Value); err != nil {
			return nil, fmt.Errorf("%s: %w", c.at(item), err)
		}
		patterns = append(patterns, item.Value)
	}
	return patterns, nil
}

// verifyRule reads an item of verify, whose fields are those of Flux where Flux has them.
func (c *configReader) verifyRule(n *yaml.Node) (trust.Rule, error) {
	rule := trust.Rule{At: c.position(n)}
	if n.Kind != yaml.MappingNode {
		return rule, fmt.Errorf("%s: a rule of %s must be a mapping", c.at(n), VerifyKey)
	}
	var err error
	var seen []string
	for i := 0; i+1 < len(n.Content) && err == nil; i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if slices.Contains(seen, k.Value) {
			return rule, fmt.Errorf("%s: key %q given twice", c.at(k), k.Value)
		}
		seen = append(seen, k.Value)
		switch k.Value {
		case "modules":
			rule.Modules, err = c.patterns("modules", v)
		case "provider":
			if v.Value != "cosign" {
				err = fmt.Errorf("%s: provider must be cosign", c.at(v))
			}
		case "key":
			rule.Signers.Key, err = c.fileName(v)
		case "trustedRoot":
			rule.Signers.TrustedRoot, err = c.fileName(v)
		case "matchOIDCIdentity":
			rule.Signers.Identities, err = c.identities(v)
		default:
			err = fmt.Errorf("%s: unknown key %q; there are modules, provider, key, trustedRoot and matchOIDCIdentity", c.at(k), k.Value)
		}
	}
	signers := rule.Signers
	switch {
	case err != nil:
	case len(rule.Modules) == 0:
		err = fmt.Errorf("%s: modules is missing", c.at(n))
	case (signers.Key == "") == (signers.TrustedRoot == ""):
		err = fmt.Errorf("%s: want either key or trustedRoot", c.at(n))
	case (signers.TrustedRoot == "") != (len(signers.Identities) == 0):
		err = fmt.Errorf("%s: trustedRoot and matchOIDCIdentity belong together", c.at(n))
	}
	rule.Trust = func() (*sign.Trust, error) { return readTrust(rule.At, signers) }
	return rule, err
}

// readTrust reads the file of a rule.
func readTrust(at problem.Position, signers trust.Signers) (*sign.Trust, error) {
	name := signers.Key + signers.TrustedRoot // one of them is empty
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, command.FileError(err))
	}
	var t *sign.Trust
	if signers.Key != "" {
		t, err = sign.Keys(data)
	} else {
		t, err = sign.Identities(data, signers.Identities)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", at, name, err)
	}
	return t, nil
}

// fileName reads the name of a file, which is relative to the directory of pequod.yaml.
func (c *configReader) fileName(v *yaml.Node) (string, error) {
	if v.Kind != yaml.ScalarNode || v.Value == "" {
		return "", fmt.Errorf("%s: must be the name of a file", c.at(v))
	}
	name := v.Value
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(c.from.path), name)
	}
	if c.from.repository != "" && !inside(c.from.repository, name) {
		return "", fmt.Errorf("%s: %q leads out of the repository", c.at(v), v.Value)
	}
	return shownPath(name), nil
}

// identities reads a list of issuers and subjects.
func (c *configReader) identities(v *yaml.Node) ([]sign.Identity, error) {
	if v.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("%s: matchOIDCIdentity must be a list of issuers and subjects", c.at(v))
	}
	var all []sign.Identity
	for _, item := range v.Content {
		fields := map[string]string{}
		if err := item.Decode(&fields); err != nil || len(fields) != 2 || fields["issuer"] == "" || fields["subject"] == "" {
			return nil, fmt.Errorf("%s: want issuer and subject, which are regular expressions", c.at(item))
		}
		all = append(all, sign.Identity{Issuer: fields["issuer"], Subject: fields["subject"]})
	}
	return all, nil
}

// position returns the position of a node.
func (c *configReader) position(n *yaml.Node) problem.Position {
	return problem.Position{File: c.file, Line: n.Line, Column: n.Column}
}
