package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
)

// kubectlPeer is the reference: server-side apply without a record of what was applied.
var kubectlPeer = peer{
	name:  "kubectl",
	keeps: true,
	build: func(ctx context.Context, b *bench) (string, error) {
		out, err := exec.CommandContext(ctx, b.kubectl, "version", "--client").Output()
		_, version, _ := strings.Cut(strings.Split(string(out), "\n")[0], ": ")
		return version, err
	},
	begin: func(_ context.Context, t *trial) (contestant, error) {
		kubeconfig, err := t.kubeconfig(t.admin)
		return &kubectl{commands{program: t.kubectl, env: []string{"KUBECONFIG=" + kubeconfig, "KUBECACHEDIR=" + t.file("cache")}}, t.file("objects.yaml")}, err
	},
}

type kubectl struct {
	commands
	file string
}

func (k *kubectl) apply(ctx context.Context, objects []object) error {
	if err := writeDocuments(k.file, objects); err != nil {
		return err
	}
	if err := k.run(ctx, "apply", "--server-side", "-f", k.file); err != nil {
		return err
	}
	return k.run(ctx, "wait", "--for=condition=Available", "deployment", "--all", "--timeout=5m")
}

func (k *kubectl) remove(ctx context.Context) error { return k.run(ctx, "delete", "-f", k.file) }

// writeDocuments writes objects to a file.
func writeDocuments(file string, objects []object) error {
	text, err := documents(objects...)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o600)
}
