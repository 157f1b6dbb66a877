{{- define "reservation.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* The names of the release and the chart, without repetition, short enough to append a part's name. */}}
{{- define "reservation.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "reservation.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "reservation.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* Labels that select pods. Takes {root, component}. */}}
{{- define "reservation.selector" -}}
app.kubernetes.io/name: {{ include "reservation.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Labels of every object. Takes {root, component}. */}}
{{- define "reservation.labels" -}}
{{ include "reservation.selector" . }}
app.kubernetes.io/part-of: reservation
app.kubernetes.io/version: {{ .root.Values.image.tag | default .root.Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_") }}
{{- end }}

{{/* Image of a part. Takes {root, part}. */}}
{{- define "reservation.image" -}}
{{- with .root.Values.image }}
{{- if .registry }}{{ .registry }}/{{ end }}{{ .repository }}/{{ $.part }}:{{ .tag | default $.root.Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "reservation.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{/* Security contexts of pods and containers: no root, no privileges, read-only file system. */}}
{{- define "reservation.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "reservation.containerSecurity" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "reservation.priorityClassName" -}}
{{- if .Values.priorityClass.create }}{{ .Values.priorityClass.name | default (include "reservation.fullname" .) }}{{ else }}{{ .Values.priorityClass.name }}{{ end }}
{{- end }}

{{/* How migrations run: job, init or none. */}}
{{- define "reservation.migrations" -}}
{{- if ne .Values.migrations.mode "auto" }}{{ .Values.migrations.mode }}
{{- else if .Values.postgresql.bundled }}init
{{- else }}job
{{- end }}
{{- end }}

{{/* Name of the Secret with a part's own secrets. Takes {root, part}. */}}
{{- define "reservation.secret" -}}
{{- if .root.Values.secrets.generate }}{{ include "reservation.fullname" .root }}-{{ .part }}{{ else }}{{ index .root.Values.secrets.existing .part }}{{ end }}
{{- end }}

{{/* Name of the Secret with the URLs of a service's database. Takes {root, part}. */}}
{{- define "reservation.databaseSecret" -}}
{{- if .root.Values.postgresql.bundled }}{{ include "reservation.fullname" .root }}-{{ .part }}-database{{ else }}{{ index .root.Values.database.secrets .part }}{{ end }}
{{- end }}

{{/* Name of the Secret with a part's certificate. Takes {root, part}. */}}
{{- define "reservation.grpcTLSSecret" -}}
{{- get .root.Values.grpcTLS.existing .part | default (printf "%s-%s-grpc-tls" (include "reservation.fullname" .root) .part) }}
{{- end }}

{{/* Public address of a gateway, the dashboard or media, or nothing. Takes {root, face}. */}}
{{- define "reservation.url" -}}
{{- $face := index .root.Values.faces .face }}
{{- if $face.url }}{{ $face.url }}
{{- else if $face.host }}https://{{ $face.host }}{{ if eq .face "gateway-b" }}/api/v1{{ end }}
{{- end }}
{{- end }}
