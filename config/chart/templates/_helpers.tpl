{{- /* The name of the program's Deployment and service account. */}}
{{- define "pequod.program" -}}
{{- get (dict "gitops" "pequod-applier" "operator" "pequod-controller-manager" "actions" "pequod-actions") .Values.mode }}
{{- end }}

{{- /* The image of a program: list $ NAME. The digest of the release is for its own image only. */}}
{{- define "pequod.image" -}}
{{- $root := first . }}
{{- $name := last . }}
{{- $image := $root.Values.image }}
{{- $digest := $image.digest }}
{{- if not (or $image.repository $image.tag $image.digest) }}
{{- $digest = get ($root.Chart.Annotations | default dict) (printf "pequod.io/%s-digest" $name) }}
{{- end }}
{{- $image.repository | default (printf "ghcr.io/pequod-io/%s" $name) }}
{{- if or $image.tag (not $image.digest) }}:{{ $image.tag | default $root.Chart.AppVersion }}{{ end }}
{{- with $digest }}@{{ . }}{{ end }}
{{- end }}

{{- /* The arguments that values add, as a list. */}}
{{- define "pequod.args" -}}
{{- $args := list }}
{{- with .Values.watchNamespace }}
{{- $args = append $args (printf "--namespace=%s" .) }}
{{- end }}
{{- with .Values.watchLabelSelector }}
{{- $args = append $args (printf "--watch-label-selector=%s" .) }}
{{- end }}
{{- if or .Values.watchNamespace .Values.watchLabelSelector }}
{{- /* The default depends on these flags, and the Role names this one. */}}
{{- $args = append $args (printf "--leader-election-id=%s" (eq .Values.mode "operator" | ternary "pequod-manager" "pequod-applier")) }}
{{- end }}
{{- with .Values.shards }}
{{- $args = append $args (printf "--shards=%d" (int .)) }}
{{- end }}
{{- with .Values.transformNamespaces }}
{{- $args = append $args (printf "--transform-namespaces=%s" (concat (list $.Release.Namespace) . | uniq | join ",")) }}
{{- end }}
{{- with .Values.allowEgress }}
{{- $args = append $args (printf "--allow-egress=%s" (join "," .)) }}
{{- end }}
{{- with .Values.monitorNetworks }}
{{- $args = append $args (printf "--monitor-networks=%s" (join "," .)) }}
{{- end }}
{{- /* Jobs of Actions copy the program from its image, by default that of the release by its tag. */}}
{{- $image := include "pequod.image" (list . "pequod-actions") }}
{{- if and (eq .Values.mode "actions") (ne $image (printf "ghcr.io/pequod-io/pequod-actions:%s" .Chart.AppVersion)) }}
{{- $args = append $args (printf "--runner-image=%s" $image) }}
{{- end }}
{{- concat $args .Values.extraArgs | toYaml }}
{{- end }}

{{- /* Fields of Pods that are values of the same name. */}}
{{- define "pequod.pod" -}}
{{- $fields := dict }}
{{- range $name := list "affinity" "imagePullSecrets" "nodeSelector" "priorityClassName" "tolerations" "topologySpreadConstraints" }}
{{- with index $.Values $name }}
{{- $_ := set $fields $name . }}
{{- end }}
{{- end }}
{{- $fields | toYaml }}
{{- end }}

{{- /* Not empty if the right to act as every account is taken away: older clusters can't grant the narrow one. */}}
{{- define "pequod.constrained" -}}
{{- if and .Values.constrained (semverCompare ">=1.36-0" .Capabilities.KubeVersion.Version) }}true{{ end }}
{{- end }}
