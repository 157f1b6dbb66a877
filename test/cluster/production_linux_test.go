package cluster

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	live = "live" // namespace of another installation, and prefix of its external databases and streams
	// liveValues override values of ci/external-values.yaml.
	liveValues = `image: {registry: "", tag: ` + version + `, pullSecrets: []}
secrets: {generate: true, existing: {auth: "", customer: "", booking: "", pass: "", subscription: "", media: "", reports: "", webhook: ""}}
database: {roles: {auth: live_auth, customer: live_customer, booking: live_booking, pass: live_pass, subscription: live_subscription, media: live_media, reports: live_reports, webhook: live_webhook}}
nats: {url: "", urlSecret: bus, prefix: ` + live + `, replicas: 1}
media: {bucket: "", volume: {accessMode: ReadWriteOnce}}
grpcTLS: {enabled: true}
defaults: {replicas: 1, resources: {requests: {cpu: 20m}}}
`
	// databases is the SQL for one service's database that docs/OPERATIONS.md gives to an
	// administrator.
	databases = `create role live_%[1]s_owner login password 'of-a-test'
create role live_%[1]s login password 'of-a-test'
create database live_%[1]s owner live_%[1]s_owner
revoke all on database live_%[1]s from public
grant connect on database live_%[1]s to live_%[1]s`
)

// testProduction installs the chart as in production, in addition to the first installation,
// whose stores it uses as external ones: one database for each service, which Jobs migrate before
// anything else starts, TLS between the services, and an external address for each interface.
func (c *cluster) testProduction(t *testing.T) {
	c.apply(t, strings.ReplaceAll(restricted, "name: "+namespace, "name: "+live))
	for _, part := range []string{"auth", "customer", "booking", "pass", "subscription", "media", "reports", "webhook"} {
		psql := []string{"--namespace", namespace, "exec", "statefulset/" + fullname + "-postgresql", "--", "psql", "--username", "postgres", "-v", "ON_ERROR_STOP=1"}
		for statement := range strings.SplitSeq(fmt.Sprintf(databases, part), "\n") {
			psql = append(psql, "--command", statement)
		}
		c.run(t, commandLimit, "kubectl", psql...)
		url := "postgres://live_%s:of-a-test@" + fullname + "-postgresql." + namespace + ":5432/live_" + part + "?sslmode=disable"
		c.run(t, commandLimit, "kubectl", "--namespace", live, "create", "secret", "generic", "database-"+part,
			"--from-literal", "url="+fmt.Sprintf(url, part), "--from-literal", "migration-url="+fmt.Sprintf(url, part+"_owner"))
	}
	bus := c.run(t, commandLimit, "kubectl", "--namespace", namespace, "get", "secret", fullname+"-nats", "-o", "go-template={{index .data \"url\" | base64decode}}")
	c.run(t, commandLimit, "kubectl", "--namespace", live, "create", "secret", "generic", "bus", "--from-literal", "url="+strings.Replace(bus, "-nats:", "-nats."+namespace+":", 1))
	shown := c.certify(t, live)

	values := filepath.Join(c.dir, "values.yaml")
	write(t, values, liveValues)
	c.run(t, installLimit+time.Minute, "helm", "install", release, chart, "--namespace", live, "--values", chart+"/ci/external-values.yaml", "--values", values,
		"--wait", "--timeout", installLimit.String())
	if jobs := c.run(t, commandLimit, "kubectl", "--namespace", live, "get", "events", "--field-selector", "reason=Completed,involvedObject.kind=Job", "-o", "name"); len(strings.Fields(jobs)) != 7 {
		t.Errorf("want the Jobs of seven services to have ended, got: %s", jobs)
	}
	var list podList
	c.get(t, live, &list, "pods")
	if len(list.Items) != len(parts()) {
		t.Errorf("got %d pods", len(list.Items))
	}
	for _, p := range list.Items {
		if !p.ready() || len(p.Spec.InitContainers) > 0 {
			t.Errorf("%s: ready %v, %d init containers", p.Metadata.Name, p.ready(), len(p.Spec.InitContainers))
		}
	}
	operator := c.run(t, commandLimit, "kubectl", "--namespace", live, "get", "secret", fullname+"-operator", "-o", "go-template={{index .data \"credentials.json\" | base64decode}}")
	dir := filepath.Join(c.dir, live)
	write(t, dir+"/operator.json", operator)
	flags := append([]string{"--credentials", dir + "/operator.json"}, shown...)
	for _, part := range []string{"auth", "customer", "booking", "pass", "subscription", "media", "reports"} {
		flags = append(flags, "--"+part, fullname+"-"+part+"."+live+":9090")
	}
	trade(t, c.demonstration(t, dir, "."+live, flags))
	c.run(t, installLimit, "helm", "uninstall", release, "--namespace", live, "--wait", "--timeout", "10m")
}
