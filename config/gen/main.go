// Command gen builds what is installed in a cluster from the kustomizations in config. The
// first form builds one kustomization, the second one the generated templates of the Helm
// chart:
//
//	go run ./config/gen config/applier config/applier.yaml
//	go run ./config/gen chart config
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gen KUSTOMIZATION FILE\n       gen chart CONFIG")
		os.Exit(2)
	}
	write := write
	if os.Args[1] == "chart" {
		write = func(_, config string) error { return writeChart(config) }
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write builds the kustomization in dir and writes it to file.
func write(dir, file string) error {
	text, err := build(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// writeChart writes the generated templates of config/chart.
func writeChart(config string) error {
	templates, err := chart(config)
	if err != nil {
		return err
	}
	for name, text := range templates {
		if err := os.WriteFile(filepath.Join(config, "chart", "templates", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// build returns the YAML documents of the kustomization in dir.
func build(fs filesys.FileSystem, dir string) ([]byte, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // as kubectl does it: what others need comes before them
	resources, err := krusty.MakeKustomizer(options).Run(fs, dir)
	if err != nil {
		return nil, err
	}
	return resources.AsYaml()
}
