// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// roles is what a fresh cluster has, with what is in manifests.
func roles(ours map[string]runtime.Object) *validation.StaticRoles {
	var clusterRoles []*rbacv1.ClusterRole
	for _, role := range bootstrappolicy.ClusterRoles() {
		clusterRoles = append(clusterRoles, &role)
	}
	namespaced := of[*rbacv1.Role](ours)
	for namespace, values := range bootstrappolicy.NamespaceRoles() {
		for _, role := range values {
			role.Namespace = namespace
			namespaced = append(namespaced, &role)
		}
	}
	_, static := validation.NewTestRuleResolver(namespaced, of[*rbacv1.RoleBinding](ours),
		append(clusterRoles, of[*rbacv1.ClusterRole](ours)...), of[*rbacv1.ClusterRoleBinding](ours))
	return static
}

// Every binding gives a role that exists to our service account and nobody else.
func TestBindings(t *testing.T) {
	ours := decode(t, slices.Concat(readKustomization(t).Resources, optional))
	static := roles(ours)
	check := func(id string, role error, subjects []rbacv1.Subject) {
		if role != nil {
			t.Errorf("%s: %v", id, role)
		}
		want := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: systemNamespace, Name: name}
		if len(subjects) != 1 || subjects[0] != want {
			t.Errorf("%s: got subjects %+v, want %+v", id, subjects, want)
		}
	}
	for _, b := range of[*rbacv1.ClusterRoleBinding](ours) {
		_, err := static.GetClusterRole(t.Context(), b.RoleRef.Name)
		check("ClusterRoleBinding "+b.Name, err, b.Subjects)
	}
	bound := map[string]bool{}
	for _, b := range of[*rbacv1.RoleBinding](ours) {
		_, err := static.GetRole(t.Context(), b.Namespace, b.RoleRef.Name)
		check("RoleBinding "+b.Namespace+"/"+b.Name, err, b.Subjects)
		bound[b.Namespace+"/"+b.RoleRef.Name] = true
	}
	for _, role := range of[*rbacv1.Role](ours) {
		if !bound[role.Namespace+"/"+role.Name] {
			t.Errorf("Role %s/%s: nobody has it", role.Namespace, role.Name)
		}
	}
}

// What the service account may is asked of the API server's own authorizer.
func TestPermissions(t *testing.T) {
	account := serviceaccount.UserInfo(systemNamespace, name, "")
	config := schedulerConfig(t)
	args := berthArgs(t)
	lease := config.LeaderElection

	type access struct{ verb, group, resource, namespace, name string }
	allowed := []access{
		// As any scheduler.
		{"list", "", "nodes", "", ""}, {"watch", "", "pods", "", ""}, {"list", "", "namespaces", "", ""},
		{"create", "", "pods/binding", "default", "p"}, {"patch", "", "pods/status", "default", "p"}, {"delete", "", "pods", "default", "victim"},
		{"get", "", "pods", "default", "victim"}, {"watch", "policy", "poddisruptionbudgets", "", ""},
		{"list", "storage.k8s.io", "storageclasses", "", ""}, {"update", "", "persistentvolumeclaims", "default", "c"},
		{"create", "events.k8s.io", "events", "default", ""},
		{"create", "authentication.k8s.io", "tokenreviews", "", ""}, {"create", "authorization.k8s.io", "subjectaccessreviews", "", ""},
		{"get", "", "configmaps", "kube-system", "extension-apiserver-authentication"},
		// The lease that the configuration names.
		{"create", "coordination.k8s.io", "leases", lease.ResourceNamespace, ""},
		{"get", "coordination.k8s.io", "leases", lease.ResourceNamespace, lease.ResourceName},
		{"update", "coordination.k8s.io", "leases", lease.ResourceNamespace, lease.ResourceName},
		// Policies, events about them, and our own state.
		{"list", "", "configmaps", args["policyNamespace"], ""}, {"watch", "", "configmaps", args["policyNamespace"], ""},
		{"get", "", "configmaps", args["policyNamespace"], "policy"},
		{"create", "", "events", args["policyNamespace"], ""}, {"patch", "", "events", args["policyNamespace"], "e"},
		{"create", "events.k8s.io", "events", args["policyNamespace"], ""}, {"patch", "events.k8s.io", "events", args["policyNamespace"], "e"},
	}
	for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete"} {
		allowed = append(allowed, access{verb, "", "configmaps", args["stateNamespace"], "berth-status"})
	}

	patch := access{"patch", "", "pods", "default", "p"}
	denied := []access{
		patch,
		{"list", "", "secrets", systemNamespace, ""}, {"get", "", "secrets", "kube-system", "s"},
		{"list", "", "configmaps", "default", ""}, {"list", "", "configmaps", "", ""}, {"get", "", "configmaps", "kube-system", "kubeadm-config"},
		{"create", "", "pods", systemNamespace, ""}, {"update", "", "nodes", "", "n"}, {"patch", "", "nodes", "", "n"},
		{"update", "coordination.k8s.io", "leases", systemNamespace, "another"}, {"delete", "coordination.k8s.io", "leases", systemNamespace, name},
		{"patch", "apps", "deployments", systemNamespace, name}, {"create", "", "serviceaccounts/token", systemNamespace, name},
		{"bind", "rbac.authorization.k8s.io", "clusterroles", "", "cluster-admin"}, {"create", "", "pods/eviction", "default", "p"},
		{"get", "", "secrets", stateNamespace, "s"},
	}
	// The scheduler's token must not be able to rewrite policies.
	for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection"} {
		denied = append(denied, access{verb, "", "configmaps", args["policyNamespace"], "policy"})
	}

	check := func(ours map[string]runtime.Object, want bool, list ...access) {
		static := roles(ours)
		authorize := rbac.New(static, static, static, static)
		for _, a := range list {
			resource, sub, _ := strings.Cut(a.resource, "/")
			decision, _, err := authorize.Authorize(t.Context(), authorizer.AttributesRecord{
				User: account, ResourceRequest: true, Verb: a.verb, APIGroup: a.group, APIVersion: "*",
				Resource: resource, Subresource: sub, Namespace: a.namespace, Name: a.name,
			})
			if got := decision == authorizer.DecisionAllow; got != want {
				t.Errorf("%+v: got allowed %t, want %t (%v)", a, got, want, err)
			}
		}
	}
	check(manifests(t), true, allowed...)
	check(manifests(t), false, denied...)
	check(decode(t, optional), true, patch)
}
