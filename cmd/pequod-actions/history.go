package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/pequod-io/pequod/actions/history/postgres"
	"github.com/pequod-io/pequod/actions/history/sink"
	actionmetrics "github.com/pequod-io/pequod/actions/metrics"
)

// historyOptions are the flags of the history in PostgreSQL. It is off without a file.
type historyOptions struct {
	urlFile   string
	retention time.Duration
}

func (o *historyOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.urlFile, "history-url-file", "",
		"file with the URL of a PostgreSQL database, such as postgres://USER:PASSWORD@HOST/DATABASE, in which finished executions, runs and Events are stored; default: none")
	fs.DurationVar(&o.retention, "history-retention", 0, "how long they are kept there; 0 means forever")
}

func (o *historyOptions) check() error {
	switch {
	case o.retention < 0:
		return fmt.Errorf("--history-retention: must not be negative, not %s", o.retention)
	case o.urlFile == "" && o.retention > 0:
		return fmt.Errorf("--history-retention goes with --history-url-file")
	case o.urlFile == "":
		return nil
	}
	if err := postgres.CheckURL(o.urlFile); err != nil {
		return fmt.Errorf("--history-url-file: %w", err)
	}
	return nil
}

// setup adds the controllers of the history to a manager.
func (o *historyOptions) setup(m manager.Manager) error {
	if o.urlFile == "" {
		return nil
	}
	return sink.Setup(m, sink.Options{
		Store: postgres.Open(o.urlFile), Metrics: actionmetrics.NewHistory(metrics.Registry), Retention: o.retention,
	})
}
