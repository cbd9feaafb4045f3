package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
)

// shipped does a job by the command line as it is shipped.
func (m *measurement) shipped(ctx context.Context, j job) (*exec.Cmd, error) {
	rg, err := loads[j.load].graph(j.namespace)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(rg)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(m.scratch, j.namespace+".json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, err
	}
	verb := "apply"
	if j.verb == remove {
		verb = "delete"
	}
	return exec.CommandContext(ctx, m.pequod, verb, "-f", file, "--kubeconfig", j.kubeconfig, "--timeout", "5m"), nil
}
