package chart

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// files returns the files in a container's mounts: for each path, the Secret or ConfigMap and its
// key.
func files(p pod, c corev1.Container) map[string][2]string {
	all := map[string][2]string{}
	for _, mount := range c.VolumeMounts {
		for _, v := range p.Spec.Volumes {
			if v.Name != mount.Name || v.Projected == nil {
				continue
			}
			for _, source := range v.Projected.Sources {
				for _, item := range source.Secret.Items {
					all[path.Join(mount.MountPath, item.Path)] = [2]string{source.Secret.Name, item.Key}
				}
			}
		}
	}
	return all
}

func TestFilesOfSettings(t *testing.T) {
	for _, values := range valueFiles {
		m := render(t, values)
		for _, p := range m.pods() {
			for _, c := range p.containers() {
				there := files(p, c)
				for name, file := range environment(c) {
					if !strings.HasPrefix(file, "/etc/reservation/") {
						continue
					}
					source, ok := there[file]
					if !ok {
						t.Errorf("%s: %s of %s names %s, which is not mounted", values, name, p.name, file)
						continue
					}
					if values != "minimal" {
						continue
					}
					s := m.secrets[source[0]]
					if s == nil || len(s.Data[source[1]]) == 0 && s.StringData[source[1]] == "" {
						t.Errorf("%s of %s refers to the key %s of the Secret %s, which is missing", name, p.name, source[1], source[0])
					}
				}
			}
		}
	}
	for _, values := range []string{"external", "replicated", "everything"} {
		if made := render(t, values).secrets; len(made) != 0 {
			t.Errorf("%s: the chart creates Secrets: %v", values, slices.Collect(maps.Keys(made)))
		}
	}
}

func TestMutualTLS(t *testing.T) {
	m := render(t, "everything")
	for _, p := range m.pods() {
		if !strings.HasPrefix(p.name, "Deployment ") {
			continue
		}
		part := strings.TrimPrefix(p.name, "Deployment studio-")
		env, there := environment(p.Spec.Containers[0]), files(p, p.Spec.Containers[0])
		want := "studio-" + part + "-grpc-tls"
		if part == "admin" {
			want = "dashboard-certificate"
		}
		for name, key := range map[string]string{"GRPC_TLS_CERT_FILE": "tls.crt", "GRPC_TLS_KEY_FILE": "tls.key", "GRPC_TLS_CA_FILE": "ca.crt"} {
			if got := there[env[name]]; got != [2]string{want, key} {
				t.Errorf("%s of %s is %v, want %s of %s", name, part, got, key, want)
			}
		}
		if certificate := m.custom["Certificate/studio-"+part+"-grpc"]; (certificate == nil) != (part == "admin") {
			t.Errorf("%s has a Certificate: %v", part, certificate != nil)
		} else if certificate != nil {
			spec := certificate.Object["spec"].(map[string]any)
			names := spec["dnsNames"].([]any)
			if spec["secretName"] != want || !slices.Contains(names, any(part)) {
				t.Errorf("the certificate of %s is %v", part, spec)
			}
			if address := strings.Split(env["CUSTOMER_ADDR"], ":")[0]; address != "" {
				callee := m.custom["Certificate/studio-customer-grpc"].Object["spec"].(map[string]any)["dnsNames"].([]any)
				if !slices.Contains(callee, any(address)) {
					t.Errorf("%s calls customer as %s, but customer's certificate has %v", part, address, callee)
				}
			}
		}
	}
	if m.custom["Certificate/studio-reservectl-grpc"] == nil {
		t.Error("reservectl has no certificate")
	}
}

func TestGeneratedSecrets(t *testing.T) {
	m := render(t, "minimal")
	data := func(name, key string) string {
		t.Helper()
		s := m.secrets[fullname("minimal")+"-"+name]
		if s == nil || len(s.Data[key]) == 0 {
			t.Fatalf("the Secret of %s has no %s", name, key)
		}
		if s.Annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("the Secret of %s is deleted with the release", name)
		}
		return string(s.Data[key])
	}
	var bootstrap []struct {
		ID, Name, Secret string
		Scopes           []string
	}
	if err := json.Unmarshal([]byte(data("auth", "bootstrap-credentials")), &bootstrap); err != nil {
		t.Fatal(err)
	}
	id, secret := regexp.MustCompile(`^svc_0[0-9]{25}$`), regexp.MustCompile(`^[0-9a-f]{64}$`)
	seen := map[string]bool{}
	for _, b := range bootstrap {
		if b.ID != data(b.Name, "credential-id") || b.Secret != data(b.Name, "credential-secret") || !id.MatchString(b.ID) || !secret.MatchString(b.Secret) ||
			!slices.Equal(b.Scopes, []string{"platform:admin"}) || seen[b.ID] || seen[b.Secret] {
			t.Errorf("the credential of %s is invalid or differs from its Secret", b.Name)
		}
		seen[b.ID], seen[b.Secret] = true, true
	}
	if len(bootstrap) != len(services) { // every service except auth, and the operator
		t.Errorf("got %d credentials", len(bootstrap))
	}
	var operator struct {
		GRPC struct {
			Auth       string
			Credential struct{ ID, Secret string } `json:"service_credential"`
		}
	}
	if err := json.Unmarshal([]byte(data("operator", "credentials.json")), &operator); err != nil {
		t.Fatal(err)
	}
	if g := operator.GRPC; g.Auth != fullname("minimal")+"-auth:9090" || g.Credential.ID != data("operator", "credential-id") || g.Credential.Secret != data("operator", "credential-secret") {
		t.Errorf("the operator's credentials.json has %s and %s", g.Auth, g.Credential.ID)
	}
	for _, part := range []string{"auth", "media", "webhook"} {
		key := data(part, "master-key")
		if raw, err := base64.StdEncoding.DecodeString(key); err != nil || len(raw) != 32 || seen[key] {
			t.Errorf("the master key of %s is invalid or shared: %d bytes, %v", part, len(raw), err)
		}
		seen[key] = true
	}
}
