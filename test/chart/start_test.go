package chart

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestStartPage renders the chart with the command of docs/START_KUBERNETES.md, and looks for what the
// page's other commands name.
func TestStartPage(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/START_KUBERNETES.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	install := regexp.MustCompile(`(?m)^helm install ` + release + ` \S+\.tgz ((?:.*\\\n)*.*)$`).FindStringSubmatch(page)
	if install == nil {
		t.Fatal("the page does not install the chart")
	}
	flags := strings.Fields(strings.ReplaceAll(install[1], "\\\n", " "))
	out, problems, err := helm(t, append([]string{"template", release, chartDir, "--kube-version", kubeVersion}, flags...)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, problems)
	}
	m := decode(t, out)
	if got := m.deployments[fullname("minimal")+"-booking"].Spec.Template.Spec.Containers[0].Image; !strings.HasPrefix(got, "registry.example.com/reservation/booking:") {
		t.Errorf("booking runs the image %s", got)
	}
	if operator := m.secrets[fullname("minimal")+"-operator"]; operator == nil || operator.StringData["credentials.json"] == "" && operator.Data["credentials.json"] == nil {
		t.Errorf("the operator's Secret is %v", operator)
	}
	forwards := regexp.MustCompile(`(?m)^forward (service|deployment)/(\S+) \d+:(\d+)$`).FindAllStringSubmatch(page, -1)
	if len(forwards) != 3 {
		t.Errorf("the page forwards %v", forwards)
	}
	for _, f := range forwards {
		if ports := m.ports(f[1], f[2]); !strings.Contains(ports, " "+f[3]+" ") {
			t.Errorf("%s %s has the ports %q, and the page forwards %s", f[1], f[2], ports, f[3])
		}
	}
}

// ports returns the ports of a service or a deployment, each between spaces.
func (m *manifests) ports(kind, name string) string {
	var all []string
	if service := m.services[name]; kind == "service" && service != nil {
		for _, p := range service.Spec.Ports {
			all = append(all, strconv.Itoa(int(p.Port)))
		}
	}
	if deployment := m.deployments[name]; kind == "deployment" && deployment != nil {
		for _, p := range deployment.Spec.Template.Spec.Containers[0].Ports {
			all = append(all, strconv.Itoa(int(p.ContainerPort)))
		}
	}
	return " " + strings.Join(all, " ") + " "
}
