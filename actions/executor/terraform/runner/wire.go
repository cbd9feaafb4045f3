package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// Mode selects the steps that a Job executes.
type Mode string

// The modes.
const (
	// Plan makes a plan that waits for approval. If it has no changes, it reads the outputs.
	Plan Mode = "plan"
	// Apply makes a plan and applies it, or applies one that was approved, and reads the outputs.
	Apply Mode = "apply"
	// Check makes a plan and reports its changes.
	Check Mode = "check"
	// Destroy destroys everything that is in the state, and then deletes the state.
	Destroy Mode = "destroy"
)

// The keys of Secrets.
const (
	inputKey  = "input.json"
	resultKey = "result.json"
	planKey   = "plan"
)

// MaxStored is the size of a plan, and of the input and the result of a run, in bytes. A Secret has
// at most 1 MiB.
const MaxStored = 900 << 10

// ExitPermanent is the exit code of a run that fails again with the same input. All other failures
// have the exit code 1.
const ExitPermanent = 3

// Input is the input of a run, which the executor has stored.
type Input struct {
	// Files are the files of the root module, by their names.
	Files map[string]string `json:"files"`
	// Vars are the values of variables, a JSON object or nothing.
	Vars json.RawMessage `json:"vars,omitempty"`
}

// Data returns the data of the Secret of an input.
func (i Input) Data() (map[string][]byte, error) {
	data, err := json.Marshal(i)
	return map[string][]byte{inputKey: data}, err
}

// Result is the result of a run, which the executor reads.
type Result struct {
	// Digest is set if a plan waits for approval: sha256:HEX of the plan.
	Digest string `json:"digest,omitempty"`
	// Changes are those of the plan, which was applied unless it waits.
	Changes Changes `json:"changes"`
	// Summary describes the plan to people.
	Summary string `json:"summary"`
	// Outputs are the values of outputs by their names. Sensitive are those that are marked so, or
	// that have the value of a variable of a Secret.
	Outputs   map[string]json.RawMessage `json:"outputs,omitempty"`
	Sensitive map[string]json.RawMessage `json:"sensitive,omitempty"`
}

// Changes are numbers of changes.
type Changes struct {
	Create  int64 `json:"create"`
	Update  int64 `json:"update"`
	Delete  int64 `json:"delete"`
	Outputs int64 `json:"outputs"`
}

// Total returns the number of all changes.
func (c Changes) Total() int64 { return c.Create + c.Update + c.Delete + c.Outputs }

// ReadResult decodes the data of the Secret of a result.
func ReadResult(data map[string][]byte) (Result, error) {
	var r Result
	return r, json.Unmarshal(data[resultKey], &r)
}

// secretVariable is the prefix of the environment of variables whose values are in a Secret.
const secretVariable = "TF_VAR_"

// EnvPrefix is the prefix that the keys of such a Secret get in the environment.
func EnvPrefix() string { return secretVariable }

// maxSuffix is the length of the name of a state: it is the value of a label.
const maxSuffix = 63

// StateSuffix returns the suffix of the Secret and of the Lease of the state of an Action. It is
// derived from the name, so that an Action that is made again goes on with its state.
func StateSuffix(name string) string {
	suffix := "pequod-" + name
	if len(suffix) <= maxSuffix {
		return suffix
	}
	sum := sha256.Sum256([]byte(name))
	return strings.TrimRight(suffix[:40], ".-") + "-" + hex.EncodeToString(sum[:10])
}

// StateName returns the name of the Secret of a state.
func StateName(suffix string) string { return "tfstate-default-" + suffix }

// lockName returns the name of the Lease of a state.
func lockName(suffix string) string { return "lock-" + StateName(suffix) }

// host returns the host in the name of the holder of a lock, USER@HOST.
func host(who string) string { return who[strings.LastIndex(who, "@")+1:] }
