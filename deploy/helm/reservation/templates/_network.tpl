{{/* Items of `egress` in network policies. Templates that do not take a part take the root. */}}

{{- define "reservation.toDNS" -}}
- to:
    {{- toYaml .Values.networkPolicy.dns | nindent 4 }}
  ports:
    - {protocol: UDP, port: 53}
    - {protocol: TCP, port: 53}
{{- end }}

{{- define "reservation.toDatabase" -}}
{{- if .Values.postgresql.bundled }}
- to:
    - podSelector:
        matchLabels:
          {{- include "reservation.selector" (dict "root" . "component" "postgresql") | nindent 10 }}
  ports:
    - {protocol: TCP, port: 5432}
{{- else }}
- ports:
    - {protocol: TCP, port: {{ .Values.database.port }}}
  {{- with .Values.networkPolicy.database }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "reservation.toBus" -}}
{{- if .Values.nats.bundled }}
- to:
    - podSelector:
        matchLabels:
          {{- include "reservation.selector" (dict "root" . "component" "nats") | nindent 10 }}
  ports:
    - {protocol: TCP, port: 4222}
{{- else }}
- ports:
    - {protocol: TCP, port: {{ .Values.nats.port }}}
  {{- with .Values.networkPolicy.nats }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "reservation.toTracing" -}}
- ports:
    - {protocol: TCP, port: {{ (urlParse .Values.tracing.endpoint).host | splitList ":" | last | int | default 4317 }}}
  {{- with .Values.networkPolicy.tracing }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/*
The bucket of media, and the addresses at which clouds give pods their identity.
*/}}
{{- define "reservation.toBucket" -}}
- ports:
    - {protocol: TCP, port: 443}
  {{- with .Values.networkPolicy.bucket }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
- to:
    - ipBlock:
        cidr: 169.254.0.0/16
  ports:
    - {protocol: TCP, port: 80}
    - {protocol: TCP, port: 988}
{{- end }}

{{/*
Webhooks can go everywhere except to networks that are not public. The service refuses the
same networks (services/webhook/address.go).
*/}}
{{- define "reservation.toReceivers" -}}
{{- $policy := .Values.networkPolicy.webhook }}
- to:
    {{- if $policy.via }}
    {{- toYaml $policy.via | nindent 4 }}
    {{- else }}
    {{- $networks := include "reservation.notPublic" . | fromYaml }}
    {{- range $block, $not := $networks }}
    - ipBlock:
        cidr: {{ $block }}
        except:
          {{- range concat $not $policy.except }}
          {{- if eq (contains ":" .) (contains ":" $block) }}
          - {{ . }}
          {{- end }}
          {{- end }}
    {{- end }}
    {{- end }}
  {{- with $policy.ports }}
  ports:
    {{- range . }}
    - {protocol: TCP, port: {{ . }}}
    {{- end }}
  {{- else }}
  ports:
    - {protocol: TCP, port: 1, endPort: 65535}
  {{- end }}
{{- end }}

{{- define "reservation.notPublic" -}}
"0.0.0.0/0":
  - 0.0.0.0/8        # this network
  - 10.0.0.0/8       # private
  - 100.64.0.0/10    # shared; some clouds' metadata
  - 127.0.0.0/8      # loopback
  - 168.63.129.16/32 # Azure's host
  - 169.254.0.0/16   # link-local; most clouds' metadata
  - 172.16.0.0/12    # private
  - 192.0.0.0/24     # protocol assignments
  - 192.0.2.0/24     # documentation
  - 192.88.99.0/24   # 6to4 relays
  - 192.168.0.0/16   # private
  - 198.18.0.0/15    # benchmarks
  - 198.51.100.0/24  # documentation
  - 203.0.113.0/24   # documentation
  - 224.0.0.0/4      # multicast
  - 240.0.0.0/4      # reserved
"2000::/3":
  - 2001::/23        # protocol assignments
  - 2001:db8::/32    # documentation
  - 2002::/16        # 6to4, which wraps IPv4 addresses
  - 3fff::/20        # documentation
{{- end }}
