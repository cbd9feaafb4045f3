package config_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	_ "sigs.k8s.io/controller-runtime/pkg/controller" // registers metrics of its own
	runtimemetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	actionmetrics "github.com/pequod-io/pequod/actions/metrics"
	"github.com/pequod-io/pequod/api/v1alpha1"
	appliermetrics "github.com/pequod-io/pequod/applier/metrics"
	"github.com/pequod-io/pequod/modules/cache"
	"github.com/pequod-io/pequod/operator/admission/serve"
	operatormetrics "github.com/pequod-io/pequod/operator/metrics"
)

var described = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

// labelsIn returns the metrics of a collector with their labels.
func labelsIn(c prometheus.Collector) map[string][]string {
	descs := make(chan *prometheus.Desc)
	go func() {
		c.Describe(descs)
		close(descs)
	}()
	found := map[string][]string{}
	for d := range descs {
		m := described.FindStringSubmatch(d.String())
		found[m[1]] = strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' })
	}
	return found
}

// ownMetrics returns the metrics of all programs with their labels.
func ownMetrics() map[string][]string {
	reg := prometheus.NewPedanticRegistry()
	appliermetrics.New(reg)
	actionmetrics.NewMonitors(reg, actionmetrics.New(reg))
	actionmetrics.NewHistory(reg)
	actionmetrics.NewExports(reg)
	operatormetrics.NewRenders(reg)
	operatormetrics.NewSources(reg, func() cache.Stats { return cache.Stats{} })
	operatormetrics.NewTransforms(reg)
	reg.MustRegister(operatormetrics.Instances{}, serve.Expiry{})
	return labelsIn(reg)
}

// ofRuntime are the metrics that the programs have from controller-runtime and that expressions
// may use; up is Prometheus' own.
var ofRuntime = []string{
	"controller_runtime_webhook_latency_seconds", "controller_runtime_webhook_requests_total", "go_goroutines", "leader_election_master_status", "process_cpu_seconds_total", "process_resident_memory_bytes",
	"rest_client_requests_total", "workqueue_depth", "workqueue_queue_duration_seconds",
}

// isHistogram reports whether a metric is a histogram by its name.
func isHistogram(name string) bool {
	return strings.HasSuffix(name, "_duration_seconds") || strings.HasSuffix(name, "_latency_seconds")
}

// allMetrics returns the series that expressions may use, with their labels.
func allMetrics(t *testing.T) map[string][]string {
	t.Helper()
	all := ownMetrics()
	runtime := labelsIn(runtimemetrics.Registry.(prometheus.Collector))
	for _, name := range ofRuntime {
		labels, is := runtime[name]
		if !is {
			t.Errorf("controller-runtime has no metric %s", name)
		}
		all[name] = labels
	}
	all["up"] = nil
	for name, labels := range maps.Clone(all) {
		all[name] = append(slices.Clone(labels), "job", "pod", "instance") // what a scrape adds
		if isHistogram(name) {
			all[name+"_bucket"] = append(slices.Clone(all[name]), "le")
			all[name+"_count"], all[name+"_sum"] = all[name], all[name]
			delete(all, name) // it has no value by its own name
		}
	}
	return all
}

// functions are those that expressions may use.
var functions = []string{"absent", "count", "histogram_quantile", "increase", "max", "min", "rate", "sum", "time", "topk"}

// values has the values of labels whose set of values is closed.
var values = map[string][]string{
	"result":     {"success", "failure", "timeout", "error", string(v1alpha1.RunFailed)},
	"controller": {"transform", "platforminstance", "resourcegraph"},
	"error_type": {"ReadinessTimeout", "RateLimited"},
	"job":        {"pequod-applier", "pequod-controller-manager", "pequod-actions"},
	"phase":      {"Pending", "Rendering", "Ready", "Failed", string(v1alpha1.RolloutHalted)},
	"condition":  {"Ready", "Stalled"},
	"status":     {"True", "False"},
	"severity":   {"Error"},
}

// problems returns the mistakes in an expression.
func problems(expr string, known map[string][]string) (found []string) {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return []string{err.Error()}
	}
	labelled := map[string]bool{}
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		if selector, ok := n.(*parser.VectorSelector); ok {
			found = append(found, selectorProblems(selector, known)...)
			for _, l := range known[selector.Name] {
				labelled[l] = true
			}
		}
		return nil
	})
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		var function string
		var grouping []string
		switch x := n.(type) {
		case *parser.Call:
			function = x.Func.Name
		case *parser.AggregateExpr:
			function, grouping = x.Op.String(), x.Grouping
		case *parser.BinaryExpr:
			if x.VectorMatching != nil {
				grouping = slices.Concat(x.VectorMatching.MatchingLabels, x.VectorMatching.Include)
			}
		}
		for _, l := range grouping {
			if !labelled[l] {
				found = append(found, "no metric of it has the label "+l)
			}
		}
		if function != "" && !slices.Contains(functions, function) {
			found = append(found, "the function "+function+" isn't listed")
		}
		return nil
	})
	return found
}

// selectorProblems returns the mistakes in the name and the labels of one selector.
func selectorProblems(selector *parser.VectorSelector, known map[string][]string) (found []string) {
	name := selector.Name
	if known[name] == nil {
		return []string{fmt.Sprintf("there is no metric %s", selector)}
	}
	for _, m := range selector.LabelMatchers {
		if m.Name != model.MetricNameLabel && !slices.Contains(known[name], m.Name) {
			found = append(found, fmt.Sprintf("%s has no label %s", name, m.Name))
		}
		if closed := values[m.Name]; closed != nil && !slices.ContainsFunc(closed, m.Matches) {
			found = append(found, fmt.Sprintf("the label %s is never %q", m.Name, m.Value))
		}
	}
	return found
}

// TestProblems checks which mistakes in expressions are found.
func TestProblems(t *testing.T) {
	known := allMetrics(t)
	for expr, want := range map[string]string{
		`rate(pequod_reconcile_total{result="error"}[5m]) > 0.1`: "",
		`rate(pequod_reconcile_total{result="failed"}[5m])`:      `the label result is never "failed"`,
		`rate(pequod_reconcile_total{graph="x"}[5m])`:            "pequod_reconcile_total has no label graph",
		`sum by (gvk) (rate(pequod_reconcile_total[5m]))`:        "no metric of it has the label gvk",
		`pequod_cue_cache_hit_total`:                             "there is no metric pequod_cue_cache_hit_total",
		`pequod_reconcile_duration_seconds`:                      "there is no metric pequod_reconcile_duration_seconds",
		// What VictoriaMetrics accepts, and Prometheus does not.
		`rate(pequod_reconcile_total[5m], 1)`:                                     "unparsed",
		`sum(rate(pequod_reconcile_total))`:                                       "unparsed",
		`pequod_dag_nodes_total keep_metric_names`:                                "unparsed",
		`{job="pequod-applier"}`:                                                  `there is no metric {job="pequod-applier"}`,
		`min_over_time(pequod_dag_nodes_total[5m])`:                               "the function min_over_time isn't listed",
		`median_over_time(pequod_dag_nodes_total[5m])`:                            "unparsed",
		`histogram_quantile(0.99, rate(pequod_reconcile_duration_seconds_sum[5m]`: "unparsed",
	} {
		got := strings.Join(problems(expr, known), "; ")
		if got != want && (want != "unparsed" || got == "") {
			t.Errorf("%s: %q; want %q", expr, got, want)
		}
	}
}

// alert is an alert as rules.yaml has it.
type alert struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

// alerts returns the alerts that a kustomization installs, by their names.
func alerts(t *testing.T, dir string) map[string]alert {
	t.Helper()
	all := map[string]alert{}
	for doc := range strings.SplitSeq(string(build(t, dir)), "\n---\n") {
		var rules struct {
			Kind string
			Spec struct{ Groups []struct{ Rules []alert } }
		}
		if err := yaml.Unmarshal([]byte(doc), &rules); err != nil {
			t.Fatal(err)
		}
		if rules.Kind != "PrometheusRule" {
			continue
		}
		for _, group := range rules.Spec.Groups {
			for _, a := range group.Rules {
				if _, twice := all[a.Alert]; twice {
					t.Errorf("config/%s has the alert %s twice", dir, a.Alert)
				}
				all[a.Alert] = a
			}
		}
	}
	return all
}

// panels returns the expressions of the dashboards that a kustomization installs, by their places.
func panels(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for doc := range strings.SplitSeq(string(build(t, dir)), "\n---\n") {
		var dashboards struct {
			Kind string
			Data map[string]string
		}
		if err := yaml.Unmarshal([]byte(doc), &dashboards); err != nil {
			t.Fatal(err)
		}
		if dashboards.Kind != "ConfigMap" {
			continue
		}
		for file, text := range dashboards.Data {
			var dashboard struct {
				Panels []struct {
					Title   string
					Targets []struct{ Expr string }
				}
			}
			if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
				t.Fatal(err)
			}
			for _, panel := range dashboard.Panels {
				for i, target := range panel.Targets {
					all[fmt.Sprintf("%s, panel %s, %d", file, panel.Title, i)] = target.Expr
				}
			}
		}
	}
	return all
}

// monitoring are the kustomizations for Prometheus and Grafana.
var monitoring = []string{"prometheus", filepath.Join("prometheus", "manager"), filepath.Join("prometheus", "actions")}

// TestExpressions checks that alerts and panels name metrics, labels and values that exist, and
// that every metric is used.
func TestExpressions(t *testing.T) {
	known := allMetrics(t)
	used := map[string]bool{}
	for i, dir := range monitoring {
		all := panels(t, dir)
		for name, a := range alerts(t, dir) {
			all["alert "+name] = a.Expr
			if _, err := time.ParseDuration(a.For); a.For != "" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if a.Annotations["summary"] == "" || a.Annotations["description"] == "" || a.Labels["severity"] == "" {
				t.Errorf("%s: annotations %v, labels %v", name, a.Annotations, a.Labels)
			}
		}
		if len(all) < 40 && i < 2 || len(all) < 15 {
			t.Fatalf("config/%s has %d expressions", dir, len(all))
		}
		for where, expr := range all {
			for _, p := range problems(expr, known) {
				t.Errorf("%s: %s: %s", where, expr, p)
			}
			for _, name := range regexp.MustCompile(`\w+`).FindAllString(expr, -1) {
				used[strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"), "_sum")] = true
			}
		}
	}
	for name := range ownMetrics() {
		if !used[name] {
			t.Errorf("neither an alert nor a dashboard shows %s", name)
		}
	}
}

// TestKCO checks that the recording rules have the names of KCO's metrics, as docs/seeds.md lists them, and the
// numbers of /stats, and that their expressions name metrics and labels that exist.
func TestKCO(t *testing.T) {
	known := allMetrics(t)
	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct{ Record, Expr string }
			}
		}
	}
	if err := yaml.Unmarshal(build(t, filepath.Join("prometheus", "kco")), &rules); err != nil {
		t.Fatal(err)
	}
	got, stats := map[string]bool{}, map[string]bool{}
	for _, group := range rules.Spec.Groups {
		for _, r := range group.Rules {
			if number, is := strings.CutPrefix(r.Record, "operator_kco_stats_"); is {
				stats[number] = true
			} else {
				got[strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(r.Record, "_bucket"), "_count"), "_sum")] = true
			}
			for _, p := range problems(r.Expr, known) {
				t.Errorf("%s: %s: %s", r.Record, r.Expr, p)
			}
			if isHistogram(r.Record) {
				t.Errorf("%s has no value by its own name", r.Record)
			}
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "docs", "seeds.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(operator_kco_\\w+)` \\|").FindAllStringSubmatch(string(text), -1) {
		want[m[1]] = true
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 7 {
		t.Errorf("%d metrics (-seeds.md +rules):\n%s", len(want), diff)
	}
	numbers := map[string]bool{"monitors": true, "polls": true, "failures": true, "reactions": true, "failed_reactions": true}
	if diff := cmp.Diff(numbers, stats); diff != "" {
		t.Errorf("numbers (-/stats +rules):\n%s", diff)
	}
}

// TestHandbook checks that the handbook lists all metrics with their labels, and all alerts.
func TestHandbook(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	for name, labels := range ownMetrics() {
		want[name] = strings.Join(labels, ", ")
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(pequod_\\w+)` \\| \\w+ \\| ([\\w, ]*)\\|").FindAllStringSubmatch(string(text), -1) {
		got[m[1]] = strings.TrimSpace(m[2])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-registered +handbook):\n%s", diff)
	}
	names, listed := map[string]bool{}, map[string]bool{}
	for _, dir := range monitoring {
		for name := range alerts(t, dir) {
			names[name] = true
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(Pequod\\w+)` \\|").FindAllStringSubmatch(string(text), -1) {
		listed[m[1]] = true
	}
	if diff := cmp.Diff(names, listed); diff != "" {
		t.Errorf("alerts (-rules +handbook):\n%s", diff)
	}
}

// TestMonitoringFiles checks that every file of config/prometheus is part of a kustomization.
func TestMonitoringFiles(t *testing.T) {
	for _, dir := range append([]string{filepath.Join("prometheus", "base"), filepath.Join("prometheus", "reader"), filepath.Join("prometheus", "kco")}, monitoring...) {
		var k struct {
			Resources          []string
			ConfigMapGenerator []struct{ Files []string }
		}
		data, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(data, &k); err != nil {
			t.Fatal(err)
		}
		listed := map[string]bool{"kustomization.yaml": true}
		for _, r := range k.Resources {
			listed[r] = true
		}
		for _, g := range k.ConfigMapGenerator {
			for _, f := range g.Files {
				_, file, _ := strings.Cut(f, "=")
				listed[file] = true
			}
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !e.IsDir() && !listed[e.Name()] {
				t.Errorf("%s isn't part of config/%s", e.Name(), dir)
			}
		}
	}
}
