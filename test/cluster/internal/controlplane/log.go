package controlplane

import (
	"flag"
	"os"

	"k8s.io/klog/v2"
)

// logTo sends what the components log to a file, which a start on the same
// directory continues. The function it returns ends that.
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
		// The file is left open: a component that didn't stop in time may still
		// write to it, and the process ends now.
	}, nil
}
