package main

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pequod-io/pequod/test/server"
)

// controlPlane is one that something is measured on.
type controlPlane struct {
	server     *server.Server
	kubeconfig string
	config     *rest.Config
	client     kubernetes.Interface
	namespaces int
	as         *rest.Config // the access of pequod-applier, if it is installed
}

// renew has what follows measured on a control plane of its own, which nothing
// was done to before.
func (m *measurement) renew(ctx context.Context) error {
	if err := m.end(); err != nil {
		return err
	}
	s, err := server.Start(ctx, server.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	m.controlPlane = &controlPlane{server: s, kubeconfig: s.Kubeconfig()}
	if m.config, err = clientcmd.BuildConfigFromFlags("", m.kubeconfig); err != nil {
		return err
	}
	m.config.QPS = -1
	m.client, err = kubernetes.NewForConfig(m.config)
	return err
}

// end ends the control plane, if there is one.
func (m *measurement) end() error {
	if m.controlPlane == nil {
		return nil
	}
	s := m.server
	m.controlPlane = nil
	return s.Stop()
}

// cpu is how long the control plane has been on a CPU.
func (c *controlPlane) cpu() time.Duration { return processCPU(c.server.Pid()) }

// calm waits until the control plane has nearly nothing to do any more.
func (c *controlPlane) calm(ctx context.Context) error {
	for last := c.cpu(); ; {
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		now := c.cpu()
		if now-last < 150*time.Millisecond {
			return nil
		}
		last = now
	}
}

// namespace makes a namespace in which Pods can be made.
func (c *controlPlane) namespace(ctx context.Context, who string) (string, error) {
	c.namespaces++
	name := fmt.Sprintf("%s-%d", who, c.namespaces)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	for {
		_, err := c.client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return name, nil
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
