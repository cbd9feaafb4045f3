// The installer of plugins of the Flux command line, which is an internal package: the path
// of this module allows its use. The module is separate, so that its requirements are not
// those of the programs.
module github.com/fluxcd/flux2/v2/pequod

go 1.26.0

require github.com/fluxcd/flux2/v2 v2.9.5

require (
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	github.com/hashicorp/go-retryablehttp v0.7.8 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/cobra v1.10.2 // indirect
	github.com/spf13/pflag v1.0.10 // indirect
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)
