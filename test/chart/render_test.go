package chart

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const (
	root      = "../.."
	chartDir  = root + "/deploy/helm/reservation"
	release   = "studio"
	namespace = "bookings"
	// kubeVersion is the version of the API types in go.mod.
	kubeVersion = "1.34.0"
)

// valueFiles are the installations that the tests render and check.
var valueFiles = []string{"minimal", "external", "replicated", "everything"}

// manifests are the objects of one installation, by name.
type manifests struct {
	deployments map[string]*appsv1.Deployment
	stateful    map[string]*appsv1.StatefulSet
	jobs        map[string]*batchv1.Job
	services    map[string]*corev1.Service
	accounts    map[string]*corev1.ServiceAccount
	secrets     map[string]*corev1.Secret
	configMaps  map[string]*corev1.ConfigMap
	policies    map[string]*networkingv1.NetworkPolicy
	budgets     map[string]*policyv1.PodDisruptionBudget
	scalers     map[string]*autoscalingv2.HorizontalPodAutoscaler
	ingresses   map[string]*networkingv1.Ingress
	// custom resources, by kind/name
	custom map[string]*unstructured.Unstructured
}

// helm runs the helm that `make chart` builds, and returns its output.
func helm(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(ctx, "helm", args...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	err = cmd.Run()
	return out.String(), problems.String(), err
}

// rendered caches rendered templates by their arguments, because helm takes a second or more and
// most tests use the same ones.
var rendered sync.Map

// template renders the chart with a file of ci/ and further arguments.
func template(t *testing.T, values string, args ...string) (string, error) {
	t.Helper()
	key := values + " " + strings.Join(args, " ")
	if text, ok := rendered.Load(key); ok {
		return text.(string), nil
	}
	all := []string{"template", release, chartDir, "--namespace", namespace, "--kube-version", kubeVersion, "--values", chartDir + "/ci/" + values + "-values.yaml"}
	out, problems, err := helm(t, append(all, args...)...)
	if err != nil {
		return problems, err
	}
	rendered.Store(key, out)
	return out, nil
}

// render returns the objects of an installation.
func render(t *testing.T, values string, args ...string) *manifests {
	t.Helper()
	text, err := template(t, values, args...)
	if err != nil {
		t.Fatalf("helm template with %s: %v\n%s", values, err, text)
	}
	return decode(t, text)
}

// decode returns the objects of a rendered chart. Unknown and duplicate fields fail the test.
func decode(t *testing.T, text string) *manifests {
	t.Helper()
	m := &manifests{
		deployments: map[string]*appsv1.Deployment{}, stateful: map[string]*appsv1.StatefulSet{}, jobs: map[string]*batchv1.Job{},
		services: map[string]*corev1.Service{}, accounts: map[string]*corev1.ServiceAccount{}, secrets: map[string]*corev1.Secret{},
		configMaps: map[string]*corev1.ConfigMap{}, policies: map[string]*networkingv1.NetworkPolicy{},
		budgets: map[string]*policyv1.PodDisruptionBudget{}, scalers: map[string]*autoscalingv2.HorizontalPodAutoscaler{},
		ingresses: map[string]*networkingv1.Ingress{}, custom: map[string]*unstructured.Unstructured{},
	}
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var object unstructured.Unstructured
		if err := yaml.UnmarshalStrict([]byte(doc), &object.Object); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		if len(object.Object) == 0 {
			continue
		}
		if !scheme.Scheme.Recognizes(object.GroupVersionKind()) {
			m.custom[object.GetKind()+"/"+object.GetName()] = &object
			continue
		}
		typed, _, err := strict.Decode([]byte(doc), nil, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		m.add(t, typed)
	}
	return m
}

func (m *manifests) add(t *testing.T, object runtime.Object) {
	t.Helper()
	switch o := object.(type) {
	case *appsv1.Deployment:
		put(t, m.deployments, o.Name, o)
	case *appsv1.StatefulSet:
		put(t, m.stateful, o.Name, o)
	case *batchv1.Job:
		put(t, m.jobs, o.Name, o)
	case *corev1.Service:
		put(t, m.services, o.Name, o)
	case *corev1.ServiceAccount:
		put(t, m.accounts, o.Name, o)
	case *corev1.Secret:
		put(t, m.secrets, o.Name, o)
	case *corev1.ConfigMap:
		put(t, m.configMaps, o.Name, o)
	case *networkingv1.NetworkPolicy:
		put(t, m.policies, o.Name, o)
	case *policyv1.PodDisruptionBudget:
		put(t, m.budgets, o.Name, o)
	case *autoscalingv2.HorizontalPodAutoscaler:
		put(t, m.scalers, o.Name, o)
	case *networkingv1.Ingress:
		put(t, m.ingresses, o.Name, o)
	}
}

func put[T any](t *testing.T, all map[string]T, name string, object T) {
	t.Helper()
	if _, twice := all[name]; twice {
		t.Errorf("%T %s is defined twice", object, name)
	}
	all[name] = object
}

// fullname returns the prefix of an installation's names.
func fullname(values string) string {
	if values == "everything" {
		return "studio" // the fullnameOverride in its values
	}
	return "studio-reservation"
}

// pod is a pod template with its workload.
type pod struct {
	name string
	corev1.PodTemplateSpec
}

// pods returns the pods of all workloads.
func (m *manifests) pods() []pod {
	var all []pod
	for name, d := range m.deployments {
		all = append(all, pod{"Deployment " + name, d.Spec.Template})
	}
	for name, s := range m.stateful {
		all = append(all, pod{"StatefulSet " + name, s.Spec.Template})
	}
	for name, j := range m.jobs {
		all = append(all, pod{"Job " + name, j.Spec.Template})
	}
	return all
}

// containers returns a pod's containers, including init containers.
func (p pod) containers() []corev1.Container {
	return append(append([]corev1.Container{}, p.Spec.InitContainers...), p.Spec.Containers...)
}
