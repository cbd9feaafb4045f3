package kubelet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// environment returns the environment of a container.
func (r *podProcesses) environment(ctx context.Context, c *corev1.Container) (map[string]string, error) {
	env := map[string]string{}
	for _, from := range c.EnvFrom {
		data := map[string][]byte{}
		var err error
		switch {
		case from.ConfigMapRef != nil:
			err = r.configMap(ctx, from.ConfigMapRef.LocalObjectReference, nil, from.ConfigMapRef.Optional, data)
		case from.SecretRef != nil:
			err = r.secret(ctx, from.SecretRef.LocalObjectReference, nil, from.SecretRef.Optional, data)
		}
		if err != nil {
			return nil, err
		}
		for name, value := range data {
			env[from.Prefix+name] = string(value)
		}
	}
	for _, e := range c.Env {
		value, found, err := r.variable(ctx, e, env)
		if err != nil {
			return nil, fmt.Errorf("env %s: %w", e.Name, err)
		}
		if found {
			env[e.Name] = value
		}
	}
	return env, nil
}

// variable returns the value of a variable, unless it is an optional one that is missing.
func (r *podProcesses) variable(ctx context.Context, e corev1.EnvVar, env map[string]string) (value string, found bool, err error) {
	data := map[string][]byte{}
	key, optional := "", (*bool)(nil)
	switch from := e.ValueFrom; {
	case from == nil:
		return expansion.Expand(e.Value, expansion.MappingFuncFor(env)), true, nil
	case from.SecretKeyRef != nil:
		key, optional = from.SecretKeyRef.Key, from.SecretKeyRef.Optional
		err = r.secret(ctx, from.SecretKeyRef.LocalObjectReference, nil, optional, data)
	case from.ConfigMapKeyRef != nil:
		key, optional = from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional
		err = r.configMap(ctx, from.ConfigMapKeyRef.LocalObjectReference, nil, optional, data)
	case from.FieldRef != nil:
		value, err = r.field(from.FieldRef.FieldPath)
		return value, true, err
	default:
		return "", false, fmt.Errorf("processes have no such source")
	}
	if err != nil {
		return "", false, err
	}
	content, ok := data[key]
	if !ok && (optional == nil || !*optional) {
		return "", false, fmt.Errorf("no key %s", key)
	}
	return string(content), ok, nil
}

// field returns a field of the Pod.
func (r *podProcesses) field(name string) (string, error) {
	switch name {
	case "spec.nodeName":
		return r.pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return r.pod.Spec.ServiceAccountName, nil
	case "status.hostIP":
		return nodeAddress, nil
	}
	return fieldpath.ExtractFieldPathAsString(r.pod, name)
}
