package main

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// scopes returns the scopes of the kinds in the cache of the manager, so that it can start while
// the API server is away.
func scopes() map[schema.GroupVersionKind]meta.RESTScope {
	return map[schema.GroupVersionKind]meta.RESTScope{
		v1alpha1.GroupVersion.WithKind("Transform"):                                 meta.RESTScopeNamespace,
		v1alpha1.GroupVersion.WithKind("InstanceSource"):                            meta.RESTScopeNamespace,
		corev1.SchemeGroupVersion.WithKind("ServiceAccount"):                        meta.RESTScopeNamespace,
		rbacv1.SchemeGroupVersion.WithKind("Role"):                                  meta.RESTScopeNamespace,
		rbacv1.SchemeGroupVersion.WithKind("RoleBinding"):                           meta.RESTScopeNamespace,
		rbacv1.SchemeGroupVersion.WithKind("ClusterRole"):                           meta.RESTScopeRoot,
		rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"):                    meta.RESTScopeRoot,
		apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"):     meta.RESTScopeRoot,
		appsv1.SchemeGroupVersion.WithKind("ControllerRevision"):                    meta.RESTScopeNamespace,
		admissionv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"):   meta.RESTScopeRoot,
		admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy"):        meta.RESTScopeRoot,
		admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding"): meta.RESTScopeRoot,
	}
}
