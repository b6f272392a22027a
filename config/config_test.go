// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

const (
	systemNamespace = "berth-system"
	stateNamespace  = "berth-state"
	name            = "berth-scheduler"
	configFile      = "scheduler-config.yaml"
)

// kustomization is as much of a kustomization.yaml as ours uses.
type kustomization struct {
	APIVersion         string
	Kind               string
	Resources          []string
	ConfigMapGenerator []struct {
		Name, Namespace string
		Files           []string
	}
	Images []struct{ Name, NewName, NewTag string }
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func readKustomization(t *testing.T) kustomization {
	t.Helper()
	var k kustomization
	if err := yaml.UnmarshalStrict(read(t, "kustomization.yaml"), &k); err != nil {
		t.Fatal(err)
	}
	return k
}

// optional are manifests that not everybody applies.
var optional = []string{"patch-pods.yaml"}

// manifests is every object that the kustomization lists, decoded strictly, by
// kind, namespace and name.
func manifests(t *testing.T) map[string]runtime.Object {
	t.Helper()
	return decode(t, readKustomization(t).Resources)
}

func decode(t *testing.T, files []string) map[string]runtime.Object {
	t.Helper()
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	objects := map[string]runtime.Object{}
	for _, file := range files {
		for i, document := range bytes.Split(read(t, file), []byte("\n---\n")) {
			object, kind, err := decoder.Decode(document, nil, nil)
			if err != nil {
				t.Fatalf("%s, document %d: %v", file, i+1, err)
			}
			accessor, err := meta.Accessor(object)
			if err != nil {
				t.Fatalf("%s, document %d: %v", file, i+1, err)
			}
			id := fmt.Sprintf("%s %s/%s", kind.Kind, accessor.GetNamespace(), accessor.GetName())
			if _, twice := objects[id]; twice {
				t.Errorf("%s: %s is there twice", file, id)
			}
			objects[id] = object
		}
	}
	return objects
}

// find is the object of that kind and name; it fails the test if there is none.
func find[T runtime.Object](t *testing.T, id string) T {
	t.Helper()
	object, ok := manifests(t)[id].(T)
	if !ok {
		t.Fatalf("%s: got %T, want a manifest for it", id, manifests(t)[id])
	}
	return object
}

// all is every object of one type, in no order.
func all[T runtime.Object](t *testing.T) []T {
	t.Helper()
	return of[T](manifests(t))
}

func of[T runtime.Object](objects map[string]runtime.Object) []T {
	var found []T
	for _, object := range objects {
		if o, ok := object.(T); ok {
			found = append(found, o)
		}
	}
	return found
}

func TestKustomizationListsEveryFile(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	k := readKustomization(t)
	want := slices.DeleteFunc(files, func(file string) bool { return file == "kustomization.yaml" })
	got := slices.Concat(k.Resources, optional)
	for _, generated := range k.ConfigMapGenerator {
		got = append(got, generated.Files...)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-there +listed):\n%s", diff)
	}
}

func TestNamespacesExist(t *testing.T) {
	objects := manifests(t)
	for id, object := range objects {
		accessor, err := meta.Accessor(object)
		if err != nil {
			t.Fatal(err)
		}
		namespace := accessor.GetNamespace()
		if _, ok := objects["Namespace /"+namespace]; !ok && namespace != "" && namespace != "kube-system" {
			t.Errorf("%s: got namespace %q, want one that is created here", id, namespace)
		}
	}
	for _, namespace := range []string{systemNamespace, stateNamespace} {
		if objects["Namespace /"+namespace] == nil {
			t.Errorf("no namespace %s", namespace)
		}
	}
}

func TestDeployment(t *testing.T) {
	deployment := find[*appsv1.Deployment](t, "Deployment berth-system/berth-scheduler")
	pod := deployment.Spec.Template.Spec
	container := pod.Containers[0]

	if got := deployment.Spec.Replicas; got == nil || *got != 2 {
		t.Errorf("replicas: got %v, want 2", got)
	}
	labels := deployment.Spec.Template.Labels
	selectors := map[string]map[string]string{"deployment": deployment.Spec.Selector.MatchLabels}
	for _, constraint := range pod.TopologySpreadConstraints {
		selectors["spread over "+constraint.TopologyKey] = constraint.LabelSelector.MatchLabels
	}
	for _, budget := range all[*policyv1.PodDisruptionBudget](t) {
		selectors["disruption budget "+budget.Name] = budget.Spec.Selector.MatchLabels
	}
	if len(selectors) != 4 {
		t.Errorf("got %d selectors, want those of the deployment, two constraints and a budget", len(selectors))
	}
	for what, selector := range selectors {
		if diff := cmp.Diff(labels, selector); diff != "" {
			t.Errorf("%s: selector (-labels of the pods +selector):\n%s", what, diff)
		}
	}

	account := find[*corev1.ServiceAccount](t, "ServiceAccount berth-system/berth-scheduler")
	if pod.ServiceAccountName != account.Name || pod.AutomountServiceAccountToken == nil || !*pod.AutomountServiceAccountToken {
		t.Errorf("got service account %q, want %q with its token", pod.ServiceAccountName, account.Name)
	}

	// A port that is named by a probe, served over HTTPS, with paths that need no login.
	for what, probe := range map[string]*corev1.Probe{"/livez": container.LivenessProbe, "/readyz": container.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil {
			t.Errorf("no probe of %s", what)
			continue
		}
		get := probe.HTTPGet
		if get.Path != what || get.Scheme != corev1.URISchemeHTTPS || get.Port.String() != container.Ports[0].Name || container.Ports[0].ContainerPort != 10259 {
			t.Errorf("probe: got %s %s on %s, want HTTPS %s on port 10259", get.Scheme, get.Path, get.Port.String(), what)
		}
	}
	if !container.Resources.Limits.Cpu().IsZero() || container.Resources.Limits.Memory().IsZero() || len(container.Resources.Requests) != 2 {
		t.Errorf("resources: got %+v, want requests, a memory limit and no CPU limit", container.Resources)
	}
}

// What the container reads and writes is mounted, under the names that
// kustomize makes.
func TestDeploymentFiles(t *testing.T) {
	pod := find[*appsv1.Deployment](t, "Deployment berth-system/berth-scheduler").Spec.Template.Spec
	container := pod.Containers[0]
	k := readKustomization(t)

	volumes := map[string]corev1.Volume{}
	for _, volume := range pod.Volumes {
		volumes[volume.Name] = volume
	}
	mounted := map[string]corev1.Volume{}
	for _, mount := range container.VolumeMounts {
		volume, ok := volumes[mount.Name]
		if !ok {
			t.Errorf("mount %s: no such volume", mount.Name)
		}
		mounted[mount.MountPath] = volume
	}

	var path string
	for _, arg := range container.Args {
		if value, ok := strings.CutPrefix(arg, "--config="); ok {
			path = value
		}
	}
	generated := k.ConfigMapGenerator[0]
	source := mounted[filepath.Dir(path)].ConfigMap
	if source == nil || source.Name != generated.Name || generated.Namespace != systemNamespace ||
		!slices.Contains(generated.Files, filepath.Base(path)) || filepath.Base(path) != configFile {
		t.Errorf("--config=%s: got volume %+v, want the generated ConfigMap %+v", path, source, generated)
	}
	if cache := mounted["/var/cache/berth"].EmptyDir; cache == nil || cache.SizeLimit == nil || *container.SecurityContext.ReadOnlyRootFilesystem != true {
		t.Errorf("/var/cache/berth: got %+v, want an emptyDir with a limit, and nothing else that can be written", mounted["/var/cache/berth"])
	}
	if len(k.Images) != 1 || k.Images[0].Name != container.Image {
		t.Errorf("images: got %+v, want one entry for %q", k.Images, container.Image)
	}
}

// The namespace enforces the restricted level, so a pod that breaks it would
// not be created.
func TestPodIsRestricted(t *testing.T) {
	template := find[*appsv1.Deployment](t, "Deployment berth-system/berth-scheduler").Spec.Template
	namespace := find[*corev1.Namespace](t, "Namespace /"+systemNamespace)
	level, err := api.ParseLevel(namespace.Labels[api.EnforceLevelLabel])
	if err != nil || level != api.LevelRestricted {
		t.Fatalf("got level %q, %v, want restricted", level, err)
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	results := evaluator.EvaluatePod(api.LevelVersion{Level: level, Version: api.LatestVersion()}, &template.ObjectMeta, &template.Spec)
	if result := policy.AggregateCheckResults(results); !result.Allowed {
		t.Errorf("the namespace's level forbids the pod: %s", result.ForbiddenDetail())
	}
}
