package controlplane

import (
	"flag"
	"os"

	"k8s.io/klog/v2"
)

// logTo redirects the log of all components to a file and appends to an existing
// one. The returned function ends the redirection.
func logTo(path string) (func(), error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{
		"logtostderr":     "false",
		"stderrthreshold": "FATAL",
		"one_output":      "true",
	} {
		if err := flags.Set(name, value); err != nil {
			return nil, err
		}
	}
	klog.SetOutput(file)
	return func() {
		klog.Flush()
		// The file stays open: a component that did not stop in time may still write
		// to it, and the process ends soon.
	}, nil
}
