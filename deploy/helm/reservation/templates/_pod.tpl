{{/*
Environment, files, containers and the pod of a part. All templates take {root, part}.
Secrets are files: the variable `NAME_FILE` names the file with the setting NAME. The files
follow changes of their Secrets without a restart, because the whole directory is one volume.
*/}}
{{- define "reservation.settings" -}}
{{- $root := .root }}
{{- $part := .part }}
{{- $all := include "reservation.parts" $root | fromYaml }}
{{- $is := index $all $part }}
{{- $fullname := include "reservation.fullname" $root }}
{{- $values := include "reservation.values" . | fromYaml }}
{{- $files := "/etc/reservation" }}
{{- $env := dict
    "RESERVATION_ENV" $root.Values.environment
    "ADMIN_ADDR" ":9100"
    "SHUTDOWN_DELAY" (printf "%ds" (int $values.endDelaySeconds))
    "SHUTDOWN_DRAIN" (printf "%ds" (int $values.drainSeconds)) }}
{{- if eq $is.serves "grpc" }}
{{- $_ := set $env "GRPC_ADDR" ":9090" }}
{{- end }}
{{- if $is.files }}
{{- $_ := set $env "HTTP_ADDR" ":8080" }}
{{- $_ := set $env "MEDIA_URL" (include "reservation.url" (dict "root" $root "face" "media")) }}
{{- $_ := set $env "MEDIA_BUCKET" ($root.Values.media.bucket | default "file:///data?no_tmp_dir=true&metadata=skip") }}
{{- end }}
{{- if eq $is.serves "http" }}
{{- $_ := set $env "HTTP_ADDR" ":8080" }}
{{- with $root.Values.trustedProxies }}
{{- $_ := set $env "TRUSTED_PROXIES" (join "," .) }}
{{- end }}
{{- end }}
{{- range $is.calls }}
{{- $_ := set $env (printf "%s_ADDR" (upper .)) (printf "%s-%s:9090" $fullname .) }}
{{- end }}
{{- if $is.database }}
{{- $_ := set $env "DATABASE_URL_FILE" (printf "%s/database/url" $files) }}
{{- end }}
{{- if $is.masterKey }}
{{- $_ := set $env "MASTER_KEY_FILE" (printf "%s/secrets/master-key" $files) }}
{{- end }}
{{- if $is.credential }}
{{- $_ := set $env "SERVICE_CREDENTIAL_ID_FILE" (printf "%s/secrets/credential-id" $files) }}
{{- $_ := set $env "SERVICE_CREDENTIAL_SECRET_FILE" (printf "%s/secrets/credential-secret" $files) }}
{{- end }}
{{- if eq $part "auth" }}
{{- $_ := set $env "BOOTSTRAP_CREDENTIALS_FILE" (printf "%s/secrets/bootstrap-credentials" $files) }}
{{- end }}
{{- if $is.bus }}
{{- with $root.Values.nats }}
{{- if or .bundled .urlSecret }}
{{- $_ := set $env "NATS_URL_FILE" (printf "%s/nats/url" $files) }}
{{- else }}
{{- $_ := set $env "NATS_URL" .url }}
{{- end }}
{{- if .credentialsSecret }}
{{- $_ := set $env "NATS_CREDENTIALS_FILE" (printf "%s/nats/credentials" $files) }}
{{- end }}
{{- if .tls.secret }}
{{- $_ := set $env "NATS_CA_FILE" (printf "%s/nats/ca.crt" $files) }}
{{- if .tls.clientCertificate }}
{{- $_ := set $env "NATS_CERT_FILE" (printf "%s/nats/tls.crt" $files) }}
{{- $_ := set $env "NATS_KEY_FILE" (printf "%s/nats/tls.key" $files) }}
{{- end }}
{{- end }}
{{- $_ := set $env "BUS_PREFIX" .prefix }}
{{- $_ := set $env "BUS_REPLICAS" (ternary 1 .replicas .bundled | int | toString) }}
{{- end }}
{{- end }}
{{- if $root.Values.grpcTLS.enabled }}
{{- $_ := set $env "GRPC_TLS_CERT_FILE" (printf "%s/grpc/tls.crt" $files) }}
{{- $_ := set $env "GRPC_TLS_KEY_FILE" (printf "%s/grpc/tls.key" $files) }}
{{- $_ := set $env "GRPC_TLS_CA_FILE" (printf "%s/grpc/ca.crt" $files) }}
{{- end }}
{{- if eq $part "admin" }}
{{- range $setting, $face := dict "ADMIN_URL" "admin" "INTERFACE_A_URL" "gateway-a" "INTERFACE_B_URL" "gateway-b" "MEDIA_URL" "media" }}
{{- with include "reservation.url" (dict "root" $root "face" $face) }}
{{- $_ := set $env $setting . }}
{{- end }}
{{- end }}
{{- end }}
{{- if eq $part "gateway-b" }}
{{- with include "reservation.url" (dict "root" $root "face" $part) }}
{{- $_ := set $env "INTERFACE_B_URL" . }}
{{- end }}
{{- end }}
{{- with $root.Values.tracing.endpoint }}
{{- $_ := set $env "OTEL_EXPORTER_OTLP_ENDPOINT" . }}
{{- end }}
{{- mergeOverwrite $env $root.Values.settings $values.settings | toYaml }}
{{- end }}

{{/* The settings as the env list of a container. */}}
{{- define "reservation.env" -}}
{{- range $name, $value := include "reservation.settings" . | fromYaml }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}

{{/* Sources of the volume at /etc/reservation. */}}
{{- define "reservation.files" -}}
{{- $root := .root }}
{{- $is := index (include "reservation.parts" $root | fromYaml) .part }}
{{- if or $is.masterKey $is.credential }}
- secret:
    name: {{ include "reservation.secret" . }}
    items:
      {{- if $is.masterKey }}
      - {key: master-key, path: secrets/master-key}
      {{- end }}
      {{- if eq .part "auth" }}
      - {key: bootstrap-credentials, path: secrets/bootstrap-credentials}
      {{- end }}
      {{- if $is.credential }}
      - {key: credential-id, path: secrets/credential-id}
      - {key: credential-secret, path: secrets/credential-secret}
      {{- end }}
{{- end }}
{{- if $is.database }}
- secret:
    name: {{ include "reservation.databaseSecret" . }}
    items:
      - {key: {{ $root.Values.database.keys.url }}, path: database/url}
{{- include "reservation.databaseCA" $root }}
{{- end }}
{{- if $is.bus }}
{{- with $root.Values.nats }}
{{- if or .bundled .urlSecret }}
- secret:
    name: {{ .bundled | ternary (printf "%s-nats" (include "reservation.fullname" $root)) .urlSecret }}
    items:
      - {key: url, path: nats/url}
{{- end }}
{{- with .credentialsSecret }}
- secret:
    name: {{ . }}
    items:
      - {key: credentials, path: nats/credentials}
{{- end }}
{{- if .tls.secret }}
- secret:
    name: {{ .tls.secret }}
    items:
      - {key: ca.crt, path: nats/ca.crt}
      {{- if .tls.clientCertificate }}
      - {key: tls.crt, path: nats/tls.crt}
      - {key: tls.key, path: nats/tls.key}
      {{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if $root.Values.grpcTLS.enabled }}
- secret:
    name: {{ include "reservation.grpcTLSSecret" . }}
    items:
      - {key: ca.crt, path: grpc/ca.crt}
      - {key: tls.crt, path: grpc/tls.crt}
      - {key: tls.key, path: grpc/tls.key}
{{- end }}
{{- end }}

{{/* Takes the root. */}}
{{- define "reservation.databaseCA" -}}
{{- with .Values.database.ca }}
{{- if .secret }}
- secret:
    name: {{ .secret }}
    items:
      - {key: {{ .key }}, path: database/ca.crt}
{{- end }}
{{- end }}
{{- end }}

{{/* The container that runs a service's migrations, and its volume. */}}
{{- define "reservation.migrationContainer" -}}
name: migrate
image: {{ include "reservation.image" . | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: [migrate]
env:
  - name: RESERVATION_ENV
    value: {{ .root.Values.environment | quote }}
  - name: MIGRATION_DATABASE_URL_FILE
    value: /etc/reservation/database/migration-url
  - name: DATABASE_APP_ROLE
    value: {{ index .root.Values.database.roles .part | quote }}
resources:
  requests: {cpu: 50m, memory: 64Mi}
  limits: {memory: 256Mi}
securityContext:
  {{- include "reservation.containerSecurity" . | nindent 2 }}
volumeMounts:
  - name: owner
    mountPath: /etc/reservation
    readOnly: true
{{- end }}

{{- define "reservation.migrationVolume" -}}
name: owner
projected:
  defaultMode: 0440
  sources:
    - secret:
        name: {{ include "reservation.databaseSecret" . }}
        items:
          - {key: {{ .root.Values.database.keys.migrationUrl }}, path: database/migration-url}
    {{- include "reservation.databaseCA" .root | nindent 4 }}
{{- end }}

{{/* The pod of a part. */}}
{{- define "reservation.pod" -}}
{{- $root := .root }}
{{- $is := index (include "reservation.parts" $root | fromYaml) .part }}
{{- $values := include "reservation.values" . | fromYaml }}
{{- $files := include "reservation.files" . }}
{{- $migrates := and $is.database (eq (include "reservation.migrations" $root) "init") }}
{{- $volume := and $is.files (not $root.Values.media.bucket) }}
serviceAccountName: {{ include "reservation.fullname" $root }}-{{ .part }}
automountServiceAccountToken: false
# Kubernetes would otherwise set variables such as AUTH_PORT, which are not settings.
enableServiceLinks: false
{{- include "reservation.pullSecrets" $root }}
{{- with include "reservation.priorityClassName" $root }}
priorityClassName: {{ . }}
{{- end }}
terminationGracePeriodSeconds: {{ add $values.endDelaySeconds $values.drainSeconds 15 }}
securityContext:
  {{- include "reservation.podSecurity" $root | nindent 2 }}
{{- if $migrates }}
initContainers:
  - {{- include "reservation.migrationContainer" . | nindent 4 }}
{{- end }}
containers:
  - name: {{ .part }}
    image: {{ include "reservation.image" . | quote }}
    imagePullPolicy: {{ $root.Values.image.pullPolicy }}
    env:
      {{- include "reservation.env" . | nindent 6 }}
      {{- with $values.extraEnv }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    {{- with $values.extraEnvFrom }}
    envFrom:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    ports:
      {{- if eq $is.serves "grpc" }}
      - {name: grpc, containerPort: 9090, protocol: TCP}
      {{- end }}
      {{- if or $is.files (eq $is.serves "http") }}
      - {name: http, containerPort: 8080, protocol: TCP}
      {{- end }}
      - {name: admin, containerPort: 9100, protocol: TCP}
    # Liveness does not depend on other services: a restart would not help a part that waits
    # for them. The admin port is open from the start. A part that cannot reach its database
    # or NATS at the start exits.
    startupProbe:
      httpGet: {path: /livez, port: admin}
      periodSeconds: 1
      timeoutSeconds: 2
      failureThreshold: 60
    readinessProbe:
      httpGet: {path: /readyz, port: admin}
      periodSeconds: 5
      timeoutSeconds: 3
      failureThreshold: 2
    livenessProbe:
      httpGet: {path: /livez, port: admin}
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 3
    resources:
      {{- toYaml $values.resources | nindent 6 }}
    securityContext:
      {{- include "reservation.containerSecurity" $root | nindent 6 }}
    {{- if or $files $volume $values.extraVolumeMounts }}
    volumeMounts:
      {{- if $files }}
      - name: settings
        mountPath: /etc/reservation
        readOnly: true
      {{- end }}
      {{- if $volume }}
      - name: files
        mountPath: /data
      {{- end }}
      {{- with $values.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    {{- end }}
{{- if or $files $volume $values.extraVolumes }}
volumes:
  {{- if $files }}
  - name: settings
    projected:
      defaultMode: 0440
      sources:
        {{- $files | nindent 8 }}
  {{- end }}
  {{- if $migrates }}
  - {{- include "reservation.migrationVolume" . | nindent 4 }}
  {{- end }}
  {{- if $volume }}
  - name: files
    persistentVolumeClaim:
      claimName: {{ $root.Values.media.volume.claim | default (printf "%s-media" (include "reservation.fullname" $root)) }}
  {{- end }}
  {{- with $values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- $selector := dict "labelSelector" (dict "matchLabels" (include "reservation.selector" (dict "root" $root "component" $.part) | fromYaml)) "matchLabelKeys" (list "pod-template-hash") }}
  {{- range . }}
  - {{- merge (deepCopy .) $selector | toYaml | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}
