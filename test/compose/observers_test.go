package compose

import (
	"testing"

	"reservation.dev/test/harness"
)

// observers returns the images of the profile observability: Debian's Prometheus, the collector
// of tools/otelcol, and a trace store instead of Jaeger.
func observers(t *testing.T) []replacement {
	compose := harness.File(t, "docker-compose.yml")
	return []replacement{
		{
			name:  found(t, compose, `OTEL_COLLECTOR_IMAGE:-([^}]+)`),
			setup: []string{"USER 10001", `ENTRYPOINT ["/otelcol"]`, `CMD ["--config", "/etc/otelcol/config.yaml"]`},
			fill: func(t *testing.T, r *rootfs) {
				r.file("/otelcol", tool(t, "otelcol"))
			},
		},
		{
			name:  found(t, compose, `JAEGER_IMAGE:-([^}]+)`),
			setup: []string{"USER 10001", `ENTRYPOINT ["/traces"]`},
			fill: func(t *testing.T, r *rootfs) {
				program := t.TempDir() + "/traces"
				output(t, []string{"CGO_ENABLED=0"}, "go", "build", "-o", program, "./test/compose/traces")
				r.file("/traces", program)
			},
		},
		{
			name:  found(t, compose, `PROMETHEUS_IMAGE:-([^}]+)`),
			setup: []string{"USER nobody", "WORKDIR /prometheus", `ENTRYPOINT ["/bin/prometheus"]`, `VOLUME ["/prometheus"]`},
			fill: func(_ *testing.T, r *rootfs) {
				r.base("nobody", 65534)
				r.link("/bin/nslookup", "busybox")
				r.program("/bin/prometheus", "/usr/bin/prometheus")
				r.dir("/prometheus", 0o775, 65534)
			},
		},
		{
			name:  found(t, compose, `GRAFANA_IMAGE:-([^}]+)`),
			setup: []string{"ENV PATH=/bin", "USER 472", `ENTRYPOINT ["/run.sh"]`},
			fill: func(_ *testing.T, r *rootfs) {
				r.base("grafana", 472)
				for _, name := range []string{"awk", "httpd", "nslookup", "sed", "touch"} {
					r.link("/bin/"+name, "busybox")
				}
				r.text("/run.sh", 0o755, grafanaEntrypoint)
				r.dir("/www", 0o755, 0)
				r.dir("/www/cgi-bin", 0o755, 0)
				r.text("/www/cgi-bin/sources", 0o755, grafanaSources)
				r.dir("/var/lib", 0o755, 0)
				r.dir("/var/lib/grafana", 0o777, 472)
			},
		},
	}
}

// Grafana is not available without a registry. Its replacement gets the same files from
// docker-compose.yml. For each data source in its provisioning, it reports on its port whether
// the data source's address answers.
const (
	grafanaEntrypoint = `#!/bin/sh
set -eu
[ -s "$GF_SECURITY_ADMIN_PASSWORD__FILE" ]
cat "$GF_SECURITY_ADMIN_PASSWORD__FILE" >/dev/null
touch /var/lib/grafana/grafana.db /tmp/written
dir=$(sed -n 's/.*options: {path: \(.*\)}/\1/p' /etc/grafana/provisioning/dashboards/dashboards.yml)
for file in "$dir"/*.json; do cat "$file" >/dev/null; done
exec httpd -f -p 3000 -h /www
`
	grafanaSources = `#!/bin/sh
printf 'Content-Type: text/plain\r\n\r\n'
awk '/type:/ { type = $2 } /url:/ { print type, $2 }' /etc/grafana/provisioning/datasources/datasources.yml |
while read -r type address; do
	case $type in
	prometheus) path='api/v1/query?query=up' ;;
	jaeger) path=api/services ;;
	esac
	host=${address#http://}
	port=${host##*:}
	# This wget is linked statically: it knows no names, and no -T.
	ip=$(nslookup "${host%:*}" 2>/dev/null | sed -n 's/^Address: //p')
	if wget -q -O /dev/null "http://$ip:$port/$path"; then echo "$address answers"; else echo "$address at $ip does not answer"; fi
done
`
)
