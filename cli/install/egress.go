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
	if bytes.Count(text, []byte(leaderElection)) != 1 {
		panic("the manifests have other arguments than expected")
	}
	argument := "        - '--allow-egress=" + strings.Join(entries, ",") + "'\n"
	return bytes.Replace(text, []byte(leaderElection), []byte(leaderElection+argument), 1), nil
}
