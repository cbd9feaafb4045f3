package main

import (
	"fmt"
	"regexp"
	"strings"
)

// An edit puts values of the chart into an object of a kind.
type edit struct {
	kind string
	// line matches one line of the object, or a block of lines.
	line *regexp.Regexp
	// with replaces it. $0 is the match, and $1 the group.
	with string
}

// edits are done to every object of the kind, in this order. The templates of _helpers.tpl
// that they include return YAML, or nothing.
var edits = []edit{
	{"Deployment", regexp.MustCompile(`(?m)^  replicas: \d+$`), `  replicas: {{ $.Values.replicas }}`},
	{"Deployment", regexp.MustCompile(`(?m)^        kubectl.kubernetes.io/default-container: .*$`), "$0" + block("$.Values.podAnnotations", 8)},
	{"Deployment", regexp.MustCompile(`(?m)^        app.kubernetes.io/part-of: .*$`), "$0" + block("$.Values.podLabels", 8)},
	// The number of shards is one of these arguments.
	{"Deployment", regexp.MustCompile(`(?m)^(        - --leader-elect)(?:\n        - --shards=8)?$`), "$1" + block(`include "pequod.args" $ | fromYamlArray`, 8)},
	{"Deployment", regexp.MustCompile(`(?m)^          value: (410MiB)$`), `          value: {{ $.Values.goMemLimit | default "$1" }}`},
	{"Deployment", regexp.MustCompile(`(?m)^        image: .*/(\S+):\S+$`), strings.TrimPrefix(block("$.Values.extraEnv", 8), "\n") + "\n" +
		`        image: {{ include "pequod.image" (list $ "$1") }}` + "\n" +
		"        {{- with $.Values.image.pullPolicy }}\n        imagePullPolicy: {{ . }}\n        {{- end }}"},
	{"Deployment", regexp.MustCompile(`(?m)^        resources:\n((?:          .*\n)+)`), "        resources:\n" +
		"        {{- if $.Values.resources }}\n        {{- toYaml $.Values.resources | nindent 10 }}\n        {{- else }}\n$1        {{- end }}\n"},
	{"Deployment", regexp.MustCompile(`(?m)^      serviceAccountName: .*$`), "$0" + block(`include "pequod.pod" $ | fromYaml`, 6)},
	{"ServiceAccount", regexp.MustCompile(`(?m)^metadata:$`), "$0\n  {{- with $.Values.serviceAccount.annotations }}\n  annotations:\n    {{- toYaml . | nindent 4 }}\n  {{- end }}"},
	{"ServiceMonitor", regexp.MustCompile(`(?m)^  labels:$`), "$0" + block("$.Values.metrics.labels", 4)},
	{"PrometheusRule", regexp.MustCompile(`(?m)^  labels:$`), "$0" + block("$.Values.metrics.labels", 4)},
	// Helm deletes what leaves a chart or is uninstalled. Deleting a definition would delete
	// every graph, and everything that graphs manage.
	{"CustomResourceDefinition", regexp.MustCompile(`(?m)^  annotations:$`), "$0\n    helm.sh/resource-policy: keep"},
}

// block returns the lines of a template that insert a value, unless it is empty.
func block(value string, indent int) string {
	space := strings.Repeat(" ", indent)
	return fmt.Sprintf("\n%s{{- with %s }}\n%s{{- toYaml . | nindent %d }}\n%s{{- end }}", space, value, space, indent, space)
}

// template returns the lines of the template of an object. What an edit has written is one
// line, so that no condition divides it.
func template(kind, doc string) ([]string, error) {
	doc = strings.ReplaceAll(doc, "{{", `{{ "{{" }}`)
	doc = strings.ReplaceAll(doc, "pequod-system", "{{ $.Release.Namespace }}")
	const joined = "\x00"
	for _, e := range append(edits, volumes(kind, doc)...) {
		if e.kind != kind {
			continue
		}
		found := e.line.FindAllStringSubmatchIndex(doc, -1)
		if len(found) != 1 {
			return nil, fmt.Errorf("%d matches of %s", len(found), e.line)
		}
		at := found[0]
		with := strings.ReplaceAll(e.with, "$0", doc[at[0]:at[1]])
		if len(at) > 2 {
			with = strings.ReplaceAll(with, "$1", doc[at[2]:at[3]])
		}
		rest := strings.TrimSuffix(with, "\n")
		doc = doc[:at[0]] + strings.ReplaceAll(rest, "\n", joined) + with[len(rest):] + doc[at[1]:]
	}
	lines := []string{"---"}
	for l := range strings.SplitSeq(doc, "\n") {
		lines = append(lines, strings.ReplaceAll(l, joined, "\n"))
	}
	return lines, nil
}

// volumes returns the edits that add volumes to an object with or without own ones.
func volumes(kind, doc string) []edit {
	var found []edit
	for _, list := range []struct{ field, value, before string }{
		{"        volumeMounts:", "$.Values.extraVolumeMounts", "      securityContext:"},
		{"      volumes:", "$.Values.extraVolumes", ""},
	} {
		indent := len(list.field) - len(strings.TrimLeft(list.field, " "))
		with := fmt.Sprintf("%[1]s{{- with %[2]s }}\n%[3]s\n%[1]s{{- toYaml . | nindent %[4]d }}\n%[1]s{{- end }}",
			strings.Repeat(" ", indent), list.value, list.field, indent)
		switch {
		case strings.Contains(doc, "\n"+list.field+"\n"):
			found = append(found, edit{kind, regexp.MustCompile("(?m)^" + list.field + "$"), "$0" + block(list.value, indent)})
		case list.before != "":
			found = append(found, edit{kind, regexp.MustCompile("(?m)^" + list.before + "$"), with + "\n$0"})
		default:
			found = append(found, edit{kind, regexp.MustCompile(`(?m)^      terminationGracePeriodSeconds: .*$`), "$0\n" + with})
		}
	}
	if kind != "Deployment" {
		return nil
	}
	return found
}
