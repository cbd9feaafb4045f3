package install

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// leaderElection is the argument after which others are added in the manifests.
const leaderElection = "        - --leader-elect\n"

// egressEntry matches what is a plain string in YAML as a part of an argument. It keeps a value of
// --allow-egress from changing the structure of the manifests.
var egressEntry = lazyregexp.New(`^(http://)?[a-zA-Z0-9*][a-zA-Z0-9.:/*-]*$`)

// withEgress adds the hosts and networks that Actions may connect to.
func withEgress(text []byte, entries []string) ([]byte, error) {
	if len(entries) == 0 {
		return text, nil
	}
	if _, err := egress.ParseAllowed(entries); err != nil {
		return nil, fmt.Errorf("--allow-egress: %w", err)
	}
	for _, entry := range entries {
		if !egressEntry().MatchString(entry) {
			return nil, fmt.Errorf("--allow-egress: %q is not a host or a network", entry)
		}
	}
	return withArgument(text, "--allow-egress="+strings.Join(entries, ",")), nil
}

// withRunner has Jobs of Actions use an image in place of the one that pequod-actions assumes, which
// is that of its release by its tag.
func withRunner(text []byte, image string) []byte {
	if image == "" {
		return text
	}
	return withArgument(text, "--runner-image="+image)
}

// withArgument adds an argument to the program.
func withArgument(text []byte, argument string) []byte {
	if bytes.Count(text, []byte(leaderElection)) != 1 {
		panic("the manifests have other arguments than expected")
	}
	return bytes.Replace(text, []byte(leaderElection), []byte(leaderElection+"        - '"+argument+"'\n"), 1)
}
