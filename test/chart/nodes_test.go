package chart

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// nodes simulates the scheduler and the nodes. It assigns every pod to a node and immediately
// reports it as running and ready, or as succeeded for a Job. No containers run; the services'
// own tests cover them.
type nodes struct {
	client kubernetes.Interface

	mu    sync.Mutex
	ended []string // Jobs whose pods have ended
}

const node = "node-1"

// run simulates until ctx ends.
func (n *nodes) run(ctx context.Context, t *testing.T) {
	_, err := n.client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{})
	if err != nil {
		t.Errorf("node: %v", err)
		return
	}
	for ctx.Err() == nil {
		if err := n.runOnce(ctx); err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			t.Logf("nodes: %v", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (n *nodes) runOnce(ctx context.Context) error {
	pods, err := n.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, p := range pods.Items {
		in := n.client.CoreV1().Pods(p.Namespace)
		switch {
		case p.DeletionTimestamp != nil:
			err = in.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		case p.Spec.NodeName == "":
			err = in.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}, metav1.CreateOptions{})
		case p.Status.Phase == corev1.PodPending:
			n.play(&p)
			_, err = in.UpdateStatus(ctx, &p, metav1.UpdateOptions{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// play sets the status that a node would report for a pod.
func (n *nodes) play(p *corev1.Pod) {
	now := metav1.Now()
	job := p.Labels["batch.kubernetes.io/job-name"]
	p.Status.Phase, p.Status.StartTime = corev1.PodRunning, &now
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	if job != "" {
		p.Status.Phase = corev1.PodSucceeded
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: now, Reason: "Completed"}}
		n.mu.Lock()
		n.ended = append(n.ended, job)
		n.mu.Unlock()
	}
	p.Status.Conditions = nil
	for _, c := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	p.Status.ContainerStatuses = nil
	for _, c := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: job == "", State: state})
	}
}

// jobs returns the Jobs that have ended since the last call.
func (n *nodes) jobs() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	ended := n.ended
	n.ended = nil
	return ended
}
