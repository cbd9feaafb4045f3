package config_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// alertCase has series in the notation of promtool: the value at the beginning, its growth a
// minute, and the number of minutes. fires are the labels of the alerts that they lead to,
// without the name.
type alertCase struct {
	noisy string
	fires []string
	quiet string
}

const (
	applierUp = `up{job="pequod-applier"} 1x40`
	managerUp = `up{job="pequod-controller-manager"} 1x40`
	actionsUp = `up{job="pequod-actions"} 1x40`
)

// slow returns the series of a histogram: 2 observations a minute, and half of them take longer
// than a limit.
func slow(name, labels, limit string) string {
	return fmt.Sprintf("%[1]s_bucket{%[2]s,le=%[3]q} 0+1x40\n%[1]s_bucket{%[2]s,le=%[4]q} 0+2x40\n%[1]s_bucket{%[2]s,le=\"+Inf\"} 0+2x40", name, labels, limit, "600")
}

// fast returns the series of a histogram without observations over a limit.
func fast(name, labels, limit string) string {
	return fmt.Sprintf("%[1]s_bucket{%[2]s,le=%[3]q} 0+2x40\n%[1]s_bucket{%[2]s,le=\"+Inf\"} 0+2x40", name, labels, limit)
}

// alertCases has series for which each alert fires, and others for which it doesn't.
var alertCases = map[string]alertCase{
	"PequodNoLeader": {
		noisy: `leader_election_master_status{job="pequod-applier",name="pequod-applier",pod="a"} 0x40`, fires: []string{`{name="pequod-applier"}`},
		quiet: "leader_election_master_status{job=\"pequod-applier\",name=\"pequod-applier\",pod=\"a\"} 0x40\nleader_election_master_status{job=\"pequod-applier\",name=\"pequod-applier\",pod=\"b\"} 1x40\n" +
			`leader_election_master_status{job="another",name="another",pod="a"} 0x40`,
	},
	"PequodReconcileErrors": {
		noisy: `pequod_reconcile_total{controller="transform",result="error"} 0+12x40`, fires: []string{`{controller="transform"}`},
		quiet: `pequod_reconcile_total{controller="transform",result="success"} 0+12x40`,
	},
	"PequodHistoryMissed": {
		noisy: `pequod_history_missed_total{table="runs"} 0+1x40`, fires: []string{`{table="runs"}`},
		quiet: `pequod_history_missed_total{table="runs"} 3x40`,
	},
	"PequodHistoryFailing": {
		noisy: `pequod_history_failures_total{table="runs"} 0+1x40`, fires: []string{`{table="runs"}`},
		quiet: "pequod_history_failures_total{table=\"runs\"} 0+1x40\npequod_history_stored_total{table=\"runs\"} 0+1x40",
	},
	"PequodGraphStalled": {
		noisy: `pequod_graphs{namespace="shop",condition="Stalled",status="True"} 2x40`, fires: []string{`{namespace="shop"}`},
		quiet: `pequod_graphs{namespace="shop",condition="Reconciling",status="True"} 2x40`,
	},
	"PequodPolicyViolations": {
		noisy: `pequod_policy_violations_total{severity="Error"} 0+1x40`, fires: []string{`{severity="Error"}`},
		quiet: `pequod_policy_violations_total{severity="Warning"} 0+1x40`,
	},
	"PequodSlowReconcile": {
		noisy: slow("pequod_reconcile_duration_seconds", `controller="transform"`, "60"), fires: []string{`{controller="transform"}`},
		quiet: fast("pequod_reconcile_duration_seconds", `controller="transform"`, "60"),
	},
	"PequodApplyFailures": {
		noisy: `pequod_apply_total{gvk="v1/ConfigMap",mode="Apply",result="failure"} 0+4x40`, fires: []string{`{gvk="v1/ConfigMap"}`},
		quiet: `pequod_apply_total{gvk="v1/ConfigMap",mode="Apply",result="success"} 0+4x40`,
	},
	"PequodSlowApply": {
		noisy: slow("pequod_apply_duration_seconds", `gvk="v1/ConfigMap",mode="Apply"`, "10"), fires: []string{`{gvk="v1/ConfigMap"}`},
		quiet: fast("pequod_apply_duration_seconds", `gvk="v1/ConfigMap",mode="Apply"`, "10"),
	},
	"PequodSlowExecution": {
		noisy: slow("pequod_dag_execution_duration_seconds", `resourcegraph="shop/web",result="success"`, "300"), fires: []string{`{resourcegraph="shop/web"}`},
		quiet: fast("pequod_dag_execution_duration_seconds", `resourcegraph="shop/web",result="success"`, "300"),
	},
	"PequodReadinessTimeouts": {
		noisy: `pequod_reconcile_errors_total{controller="resourcegraph",error_type="ReadinessTimeout"} 0+1x40`, fires: []string{`{controller="resourcegraph"}`},
		quiet: `pequod_reconcile_errors_total{controller="resourcegraph",error_type="Forbidden"} 0+1x40`,
	},
	"PequodAdoptionFailures": {
		noisy: `pequod_adoption_total{result="failure"} 0+1x40`, fires: []string{`{result="failure"}`},
		quiet: `pequod_adoption_total{result="success"} 0+1x40`,
	},
	"PequodDriftFight": {
		noisy: `pequod_drift_total{resourcegraph="shop/web"} 0+3x40`, fires: []string{`{resourcegraph="shop/web"}`},
		quiet: `pequod_drift_total{resourcegraph="shop/web"} 0+1x40`,
	},
	"PequodHistoryRewritten": {noisy: `pequod_history_rewrites_total 0x20 1x20`, fires: []string{`{}`}, quiet: `pequod_history_rewrites_total 1x40`},
	"PequodLargeGraph": {
		noisy: `pequod_dag_nodes_total{resourcegraph="shop/web"} 101x40`, fires: []string{`{resourcegraph="shop/web"}`},
		quiet: `pequod_dag_nodes_total{resourcegraph="shop/web"} 100x40
pequod_dag_nodes_total{resourcegraph="other"} 9000x40`, // the sum of many graphs
	},
	"PequodSlowQueue": {
		noisy: slow("workqueue_queue_duration_seconds", `job="pequod-controller-manager",controller="transform"`, "30"),
		fires: []string{`{controller="transform", job="pequod-controller-manager"}`},
		quiet: slow("workqueue_queue_duration_seconds", `job="another",controller="transform"`, "30"),
	},
	"PequodWebhookCertificateExpires": {
		noisy: `pequod_webhook_certificate_expiration_timestamp_seconds{job="pequod-applier",pod="a"} 1000000x40`,
		fires: []string{`{job="pequod-applier", pod="a"}`},
		quiet: `pequod_webhook_certificate_expiration_timestamp_seconds{job="pequod-applier",pod="a"} 2000000x40`,
	},
	"PequodSlowWebhook": {
		noisy: slow("controller_runtime_webhook_latency_seconds", `job="pequod-applier",webhook="/validate"`, "2"), fires: []string{`{job="pequod-applier", webhook="/validate"}`},
		quiet: fast("controller_runtime_webhook_latency_seconds", `job="pequod-applier",webhook="/validate"`, "2"),
	},
	"PequodTransformNotReady": {
		noisy: `pequod_transforms{platform="pequod-system/web",condition="Ready",status="False"} 1x40`, fires: []string{`{platform="pequod-system/web"}`},
		quiet: "pequod_transforms{platform=\"pequod-system/web\",condition=\"Ready\",status=\"True\"} 1x40\npequod_transforms{platform=\"pequod-system/web\",condition=\"Stalled\",status=\"False\"} 1x40",
	},
	"PequodInstancesFailed": {
		noisy: `pequod_instances{platform="pequod-system/web",phase="Failed"} 1x40`, fires: []string{`{platform="pequod-system/web"}`},
		quiet: "pequod_instances{platform=\"pequod-system/web\",phase=\"Failed\"} 0x40\npequod_instances{platform=\"pequod-system/web\",phase=\"Pending\"} 1x40",
	},
	"PequodPlatformFailing": {
		noisy: "pequod_instances{platform=\"pequod-system/web\",phase=\"Failed\"} 3x40\npequod_instances{platform=\"pequod-system/web\",phase=\"Ready\"} 7x40", fires: []string{`{platform="pequod-system/web"}`},
		quiet: "pequod_instances{platform=\"pequod-system/web\",phase=\"Failed\"} 3x40\npequod_instances{platform=\"pequod-system/web\",phase=\"Ready\"} 97x40\n" +
			"pequod_instances{platform=\"pequod-system/db\",phase=\"Failed\"} 2x40",
	},
	"PequodRolloutHalted": {
		noisy: `pequod_rollouts{platform="pequod-system/web",phase="Halted"} 1x40`, fires: []string{`{platform="pequod-system/web"}`},
		quiet: `pequod_rollouts{platform="pequod-system/web",phase="Progressing"} 1x40`,
	},
	"PequodRenderErrors": {
		noisy: `pequod_cue_render_errors_total{platform="pequod-system/web",error_type="timeout"} 0+2x40`, fires: []string{`{platform="pequod-system/web"}`},
		quiet: `pequod_cue_render_errors_total{platform="pequod-system/web",error_type="timeout"} 0 0 0 1x37`,
	},
	"PequodSlowRender": {
		noisy: slow("pequod_cue_render_duration_seconds", `platform="pequod-system/web"`, "5"), fires: []string{`{platform="pequod-system/web"}`},
		quiet: fast("pequod_cue_render_duration_seconds", `platform="pequod-system/web"`, "5"),
	},
	"PequodEvaluationsKilled": {
		noisy: `pequod_cue_process_failures_total{platform="pequod-system/web",error_type="memory"} 0+1x40`, fires: []string{`{error_type="memory", platform="pequod-system/web"}`},
		quiet: `pequod_cue_process_failures_total{platform="pequod-system/web",error_type="memory"} 3x40`,
	},
	"PequodActionRunsFail": {
		noisy: `pequod_actions_executed_total{type="http",purpose="Apply",result="Failed"} 0+1x40`, fires: []string{`{type="http"}`},
		quiet: `pequod_actions_executed_total{type="http",purpose="Apply",result="Succeeded"} 0+1x40`,
	},
	"PequodActionReconcileErrors": {
		noisy: `pequod_action_reconcile_total{result="error"} 0+12x40`, fires: []string{`{}`},
		quiet: `pequod_action_reconcile_total{result="success"} 0+12x40`,
	},
	"PequodSlowRuns": {
		noisy: "pequod_action_duration_seconds_bucket{type=\"http\",le=\"3600\"} 0x40\npequod_action_duration_seconds_bucket{type=\"http\",le=\"14400\"} 0+1x40\npequod_action_duration_seconds_bucket{type=\"http\",le=\"+Inf\"} 0+1x40", fires: []string{`{type="http"}`},
		quiet: fast("pequod_action_duration_seconds", `type="http"`, "3600"),
	},
	"PequodExportsFailing": {
		noisy: `pequod_exports_failures_total{export="events"} 0+1x40`, fires: []string{`{export="events"}`},
		quiet: "pequod_exports_failures_total{export=\"events\"} 0+1x40\npequod_exports_sent_total{export=\"events\"} 0+1x40",
	},
	"PequodExportsDropped": {
		noisy: `pequod_exports_dropped_total{export="events",reason="full"} 0+1x40`, fires: []string{`{export="events", reason="full"}`},
		quiet: `pequod_exports_dropped_total{export="events",reason="full"} 3x40`,
	},
	"PequodFetchFailures": {
		noisy: `pequod_cue_fetch_total{source="oci",result="failure"} 0+1x40`, fires: []string{`{source="oci"}`},
		quiet: `pequod_cue_fetch_total{source="oci",result="success"} 0+1x40`,
	},
	"PequodFetchRateLimited": {
		noisy: `pequod_reconcile_errors_total{controller="transform",error_type="RateLimited"} 0+1x40`, fires: []string{`{controller="transform", error_type="RateLimited"}`},
		quiet: `pequod_reconcile_errors_total{controller="transform",error_type="Unauthorized"} 0+1x40`,
	},
	"PequodSlowFetch": {
		noisy: slow("pequod_cue_fetch_duration_seconds", `source="git"`, "30"), fires: []string{`{source="git"}`},
		quiet: fast("pequod_cue_fetch_duration_seconds", `source="git"`, "30"),
	},
	"PequodCacheMissRate": {
		noisy: "pequod_cue_cache_misses_total 0+2x40\npequod_cue_cache_hits_total 0+1x40", fires: []string{`{}`},
		quiet: "pequod_cue_cache_misses_total 0+1x40\npequod_cue_cache_hits_total 0+2x40",
	},
}

// TestAlerts evaluates each alert of a kustomization with series for which it fires, and with
// others. An alert that names a metric, a label or a value wrongly never fires.
func TestAlerts(t *testing.T) {
	evaluated := map[string]bool{}
	for i, dir := range monitoring {
		up, job := []string{applierUp, managerUp, actionsUp}[i], []string{"pequod-applier", "pequod-controller-manager", "pequod-actions"}[i]
		for name, a := range alerts(t, dir) {
			test := alertCases[name]
			if evaluated[name] = true; name == "PequodControllerDown" {
				test = alertCase{noisy: strings.Replace(up, " 1", " 0", 1), fires: []string{`{}`}, quiet: up}
				if a.Labels["job"] != job { // absent has no labels for an expression
					t.Errorf("%s of %s has the label job %q", name, job, a.Labels["job"])
				}
			}
			if test.noisy == "" || test.quiet == "" {
				t.Errorf("%s has no series to be evaluated with", name)
				continue
			}
			if got := firing(t, a.Expr, test.noisy); !slices.Equal(got, test.fires) {
				t.Errorf("%s fires for %v; want %v, with\n%s", name, got, test.fires, test.noisy)
			}
			if got := firing(t, a.Expr, test.quiet); len(got) > 0 {
				t.Errorf("%s fires for %v, with\n%s", name, got, test.quiet)
			}
			if got := firing(t, a.Expr, ""); len(got) > 0 && name != "PequodControllerDown" {
				t.Errorf("%s fires for %v without any series", name, got)
			}
		}
	}
	for name := range alertCases {
		if !evaluated[name] {
			t.Errorf("there is no alert %s", name)
		}
	}
}

// firing returns the labels of the results of an expression after half an hour of series.
func firing(t *testing.T, expr, text string) []string {
	t.Helper()
	options := parser.NewParser(parser.Options{})
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 100_000, Timeout: time.Minute, Parser: options})
	defer engine.Close()
	all := &storage.MockQueryable{MockQuerier: &storage.MockQuerier{SelectMockFunction: selectFrom(parseSeries(t, text))}}
	query, err := engine.NewInstantQuery(t.Context(), all, nil, expr, time.Unix(0, 0).Add(30*time.Minute))
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	defer query.Close()
	result := query.Exec(context.Background())
	vector, err := result.Vector()
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	var found []string
	for _, sample := range vector {
		found = append(found, sample.Metric.DropReserved(func(n string) bool { return n == model.MetricNameLabel }).String())
	}
	slices.Sort(found)
	return found
}

// sample is the value of a series at a time.
type sample struct {
	t int64
	v float64
}

func (s sample) ST() int64                     { return 0 }
func (s sample) T() int64                      { return s.t }
func (s sample) F() float64                    { return s.v }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// parseSeries parses one series a line, with a value a minute.
func parseSeries(t *testing.T, text string) (all []storage.Series) {
	t.Helper()
	for line := range strings.Lines(text) {
		set, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var samples []chunks.Sample
		for i, v := range values {
			samples = append(samples, sample{time.Unix(0, 0).Add(time.Duration(i) * time.Minute).UnixMilli(), v.Value})
		}
		all = append(all, storage.NewListSeries(set, samples))
	}
	return all
}

// selectFrom returns a function that selects series.
func selectFrom(all []storage.Series) func(bool, *storage.SelectHints, ...*labels.Matcher) storage.SeriesSet {
	return func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		var found []storage.Series
		for _, s := range all {
			matches := func(m *labels.Matcher) bool { return m.Matches(s.Labels().Get(m.Name)) }
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !matches(m) }) {
				found = append(found, s)
			}
		}
		return &seriesSet{series: found}
	}
}

// seriesSet implements [storage.SeriesSet].
type seriesSet struct {
	series []storage.Series
	next   int
}

func (s *seriesSet) Next() bool                        { s.next++; return s.next <= len(s.series) }
func (s *seriesSet) At() storage.Series                { return s.series[s.next-1] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }
