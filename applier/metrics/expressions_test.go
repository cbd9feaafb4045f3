package metrics

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

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	_ "sigs.k8s.io/controller-runtime/pkg/controller" // registers metrics of its own
	runtimemetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"
)

// Where the alert rules and the dashboard are.
const configDir = "../../config/prometheus"

// TestNames holds what is registered against what is promised.
func TestNames(t *testing.T) {
	want := map[string][]string{
		"pequod_reconcile_total":                     {"controller", "result"},
		"pequod_reconcile_duration_seconds":          {"controller"},
		"pequod_reconcile_errors_total":              {"controller", "error_type"},
		"pequod_dag_nodes_total":                     {"resourcegraph"},
		"pequod_dag_execution_duration_seconds":      {"resourcegraph", "result"},
		"pequod_dag_node_execution_duration_seconds": {"node_id", "result"},
		"pequod_apply_total":                         {"result", "mode", "gvk"},
		"pequod_apply_duration_seconds":              {"mode", "gvk"},
		"pequod_resources_managed":                   {"gvk", "namespace"},
		"pequod_adoption_total":                      {"result"},
		"pequod_adoption_duration_seconds":           nil,
		"pequod_drift_total":                         {"resourcegraph"},
		"pequod_graphs_waiting":                      nil,
		"pequod_graphs":                              {"namespace", "condition", "status"},
		"pequod_policy_violations_total":             {"severity"},
		"pequod_history_rewrites_total":              nil,
	}
	if diff := cmp.Diff(want, ownMetrics(t)); diff != "" {
		t.Errorf("metrics and labels (-want +got):\n%s", diff)
	}
	types := typesOf(t)
	for name := range want {
		typ := "counter"
		switch {
		case strings.HasSuffix(name, "_seconds"):
			typ = "histogram"
		case name == "pequod_dag_nodes_total", name == "pequod_resources_managed", name == "pequod_graphs_waiting", name == "pequod_graphs":
			typ = "gauge"
		}
		if types[name] != typ {
			t.Errorf("%s is a %s; want a %s", name, types[name], typ)
		}
	}
}

var described = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

// labelsIn are the metrics of a collector with their labels.
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
		if len(found[m[1]]) == 0 {
			found[m[1]] = nil
		}
	}
	return found
}

func ownMetrics(t *testing.T) map[string][]string {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	New(reg)
	return labelsIn(reg)
}

// ofRuntime are the metrics that the programs have from controller-runtime and
// that expressions may use; up is Prometheus' own.
var ofRuntime = []string{
	"go_goroutines", "leader_election_master_status", "process_cpu_seconds_total", "process_resident_memory_bytes",
	"rest_client_requests_total", "workqueue_depth",
}

// allMetrics are those that expressions may use, with the labels that they may use.
func allMetrics(t *testing.T) map[string][]string {
	t.Helper()
	all := ownMetrics(t)
	runtime := labelsIn(runtimemetrics.Registry.(prometheus.Collector))
	for _, name := range ofRuntime {
		labels, is := runtime[name]
		if !is {
			t.Errorf("controller-runtime has no metric %s", name)
		}
		all[name] = labels
	}
	all["up"] = nil
	for name, labels := range all {
		// What a scrape adds.
		all[name] = append(slices.Clone(labels), "job", "pod", "instance")
		if strings.HasSuffix(name, "_seconds") {
			all[name+"_bucket"] = append(slices.Clone(all[name]), "le")
			all[name+"_count"], all[name+"_sum"] = all[name], all[name]
		}
	}
	for name := range all {
		if strings.HasSuffix(name, "_seconds") {
			delete(all, name) // a histogram has no value by its own name
		}
	}
	return all
}

// The functions that expressions may use: a part of those that the parser knows.
var functions = []string{
	"absent", "count", "histogram_quantile", "increase", "max", "rate", "sum", "topk",
}

// values are those that labels with a closed set of values have.
var values = map[string][]string{
	"result":     {resultSuccess, resultFailure, resultTimeout, resultError},
	"controller": {controllerName},
	"error_type": {"ReadinessTimeout"},
	"job":        {"pequod-applier"},
}

// problems returns the mistakes in an expression.
func problems(expr string, known map[string][]string) (found []string) {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return []string{err.Error()}
	}
	labelled := map[string]bool{}
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		selector, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		name := selector.Name
		if known[name] == nil {
			found = append(found, fmt.Sprintf("there is no metric %s", selector))
			return nil
		}
		for _, l := range known[name] {
			labelled[l] = true
		}
		for _, m := range selector.LabelMatchers {
			if m.Name != model.MetricNameLabel && !slices.Contains(known[name], m.Name) {
				found = append(found, fmt.Sprintf("%s has no label %s", name, m.Name))
			}
			if closed := values[m.Name]; closed != nil && !slices.ContainsFunc(closed, m.Matches) {
				found = append(found, fmt.Sprintf("the label %s is never %q", m.Name, m.Value))
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

func TestProblems(t *testing.T) {
	known := allMetrics(t)
	for expr, want := range map[string]string{
		`rate(pequod_reconcile_total{result="error"}[5m]) > 0.1`: "",
		`rate(pequod_reconcile_total{result="failed"}[5m])`:      `the label result is never "failed"`,
		`rate(pequod_reconcile_total{graph="x"}[5m])`:            "pequod_reconcile_total has no label graph",
		`sum by (gvk) (rate(pequod_reconcile_total[5m]))`:        "no metric of it has the label gvk",
		`pequod_cue_cache_hits_total`:                            "there is no metric pequod_cue_cache_hits_total",
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

func TestExpressions(t *testing.T) {
	known := allMetrics(t)
	used := map[string]bool{}
	for where, expr := range expressions(t) {
		for _, p := range problems(expr, known) {
			t.Errorf("%s: %s: %s", where, expr, p)
		}
		for name := range known {
			if regexp.MustCompile(`\b` + name + `\b`).MatchString(expr) {
				used[strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"), "_sum")] = true
			}
		}
	}
	for name := range ownMetrics(t) {
		if !used[name] {
			t.Errorf("neither an alert nor the dashboard shows %s", name)
		}
	}
}

// expressions are those of the alert rules and of the dashboard, by where they stand.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct{ Alert, Expr string }
			}
		}
	}
	data, err := os.ReadFile(filepath.Join(configDir, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &rules); err != nil {
		t.Fatal(err)
	}
	for _, group := range rules.Spec.Groups {
		for _, rule := range group.Rules {
			all["alert "+rule.Alert] = rule.Expr
		}
	}
	alerts := len(all)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if data, err = os.ReadFile(filepath.Join(configDir, "dashboard.json")); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for i, target := range panel.Targets {
			all[fmt.Sprintf("panel %s, %d", panel.Title, i)] = target.Expr
		}
	}
	if alerts < 10 || len(all)-alerts < 20 {
		t.Fatalf("found %d alerts and %d expressions of panels", alerts, len(all)-alerts)
	}
	return all
}

// TestKustomization holds that every file of config/prometheus is part of it, and
// that every file that is part of it is there.
func TestKustomization(t *testing.T) {
	var k struct {
		Resources          []string
		ConfigMapGenerator []struct{ Files []string }
	}
	data, err := os.ReadFile(filepath.Join(configDir, "kustomization.yaml"))
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
	entries, err := os.ReadDir(configDir)
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, e := range entries {
		there = append(there, e.Name())
	}
	slices.Sort(there)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(listed)), there); diff != "" {
		t.Errorf("files (-listed +there):\n%s", diff)
	}
}
