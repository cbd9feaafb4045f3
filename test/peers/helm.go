package main

import (
	"context"
	"os"
	"path/filepath"
)

var helmPeer = peer{
	name: "Helm",
	build: func(ctx context.Context, b *bench) (version string, err error) {
		b.helm, version, err = goTool(ctx, "helm", "test/helm/tool", "helm.sh/helm/v4/cmd/helm", "helm.sh/helm/v4")
		return version, err
	},
	begin: func(_ context.Context, t *trial) (contestant, error) {
		kubeconfig, err := t.kubeconfig(t.admin)
		if err != nil {
			return nil, err
		}
		chart := t.file("chart")
		if err := os.MkdirAll(filepath.Join(chart, "templates"), 0o700); err != nil {
			return nil, err
		}
		env := []string{"KUBECONFIG=" + kubeconfig, "HELM_CACHE_HOME=" + t.dir, "HELM_CONFIG_HOME=" + t.dir, "HELM_DATA_HOME=" + t.dir}
		return &helm{commands{program: t.helm, env: env}, chart},
			os.WriteFile(filepath.Join(chart, "Chart.yaml"), []byte("{apiVersion: v2, name: bench, version: 1.0.0}\n"), 0o600)
	},
}

// helm installs a chart whose templates are the objects.
type helm struct {
	commands
	chart string
}

func (h *helm) apply(ctx context.Context, objects []object) error {
	if err := writeDocuments(filepath.Join(h.chart, "templates", "objects.yaml"), objects); err != nil {
		return err
	}
	return h.run(ctx, "upgrade", "--install", "bench", h.chart, "--wait", "--timeout=5m")
}

func (h *helm) remove(ctx context.Context) error {
	return h.run(ctx, "uninstall", "bench", "--wait", "--timeout=5m")
}
