// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
)

// limitsOf is a pod's limits with the feature gates at their defaults.
func limitsOf(p *v1.Pod) v1.ResourceList {
	return resourcehelper.PodLimits(p, resourcehelper.PodResourcesOptions{
		UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true,
	})
}

var operators = map[string]int64{
	"In": abi.OpIn, "NotIn": abi.OpNotIn, "Exists": abi.OpExists, "DoesNotExist": abi.OpDoesNotExist, "Gt": abi.OpGt, "Lt": abi.OpLt, "Equal": abi.OpEqual,
}

func (o oracle) pod(p *v1.Pod) record {
	r := record{}
	for _, s := range abi.PodSections {
		r[s.Name] = entries{}
	}
	put := func(key string, f fields) { r[key] = append(r[key], f) }
	meta := fields{
		"namespace": clean(p.Namespace), "scheduler": clean(p.Spec.SchedulerName), "priority": int64(0), "priority_class": clean(p.Spec.PriorityClassName),
		"qos":   map[v1.PodQOSClass]int64{v1.PodQOSGuaranteed: abi.QoSGuaranteed, v1.PodQOSBurstable: abi.QoSBurstable}[qos.GetPodQOS(p)],
		"flags": flag01(p.Spec.HostNetwork) * abi.PodHostNetwork, "runtime_class": "", "service_account": clean(p.Spec.ServiceAccountName),
	}
	if p.Spec.Priority != nil {
		meta["priority"] = int64(*p.Spec.Priority)
	}
	if p.Spec.PreemptionPolicy != nil && *p.Spec.PreemptionPolicy == v1.PreemptNever {
		meta["flags"] = meta["flags"].(int64) + abi.PodNeverPreempt
	}
	if p.Spec.RuntimeClassName != nil {
		meta["runtime_class"] = clean(*p.Spec.RuntimeClassName)
	}
	if r := p.Spec.Resources; r != nil {
		for name := range r.Requests {
			if name == v1.ResourceCPU || name == v1.ResourceMemory || strings.HasPrefix(string(name), "hugepages-") {
				meta["flags"] = meta["flags"].(int64) | abi.PodOwnRequests
			}
		}
	}
	put("pod.meta", meta)
	put("pod.identity", fields{
		"name": clean(p.Name), "uid": clean(string(p.UID)), "created": unix(&p.CreationTimestamp), "deletion": unix(p.DeletionTimestamp),
		"nominated_node": clean(p.Status.NominatedNodeName), "node": clean(p.Spec.NodeName),
	})
	r["pod.labels"], r["pod.annotations"], r["pod.node_selector"] = o.pairs(p.Labels), o.pairs(p.Annotations), o.pairs(p.Spec.NodeSelector)
	for _, w := range p.OwnerReferences {
		put("pod.owners", fields{
			"api_version": clean(w.APIVersion), "kind": clean(w.Kind), "name": clean(w.Name), "uid": clean(string(w.UID)),
			"controller": flag01(w.Controller != nil && *w.Controller),
		})
	}

	pi := &framework.PodInfo{Pod: p}
	total := pi.CalculateResource()
	request := counted(total.Resource.(*framework.Resource))
	nonZero := counted(total.Resource.(*framework.Resource))
	nonZero["cpu"], nonZero["memory"] = total.Non0CPU, total.Non0Mem
	r["pod.resources"] = o.rows([]string{"cpu", "memory"}, map[string]map[string]int64{
		"request": request, "non_zero_request": nonZero, "limit": listed(limitsOf(p)), "overhead": listed(p.Spec.Overhead),
	})

	containers := func(list []v1.Container, init bool) {
		for _, c := range list {
			kind := int64(abi.ContainerMain)
			sidecar := init && c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
			switch {
			case sidecar:
				kind = abi.ContainerSidecar
			case init:
				kind = abi.ContainerInit
			}
			ports := entries{}
			for _, p := range c.Ports {
				f := fields{"ip": clean(p.HostIP), "protocol": clean(string(p.Protocol)), "host_port": int64(p.HostPort), "container_port": int64(p.ContainerPort)}
				if p.HostIP == "" {
					f["ip"] = "0.0.0.0"
				}
				if p.Protocol == "" {
					f["protocol"] = "TCP"
				}
				ports = append(ports, f)
			}
			put("pod.containers", fields{
				"name": clean(c.Name), "kind": kind, "image": clean(c.Image),
				"requests": o.quantities(c.Resources.Requests), "limits": o.quantities(c.Resources.Limits), "ports": ports,
			})
			put("pod.images", fields{"name": clean(c.Image)})
			if !init || sidecar {
				r["pod.ports"] = append(r["pod.ports"], ports...)
			}
		}
	}
	containers(p.Spec.InitContainers, true)
	containers(p.Spec.Containers, false)
	o.affinity(p, put)

	for _, t := range p.Spec.Tolerations {
		f := fields{"key": clean(t.Key), "op": operators[string(t.Operator)], "value": clean(t.Value), "effect": effects[t.Effect], "seconds": int64(-1)}
		if t.Operator == "" {
			f["op"] = int64(abi.OpEqual)
		}
		if t.TolerationSeconds != nil {
			f["seconds"] = *t.TolerationSeconds
		}
		put("pod.tolerations", f)
	}
	for _, c := range p.Spec.TopologySpreadConstraints {
		f := fields{
			"max_skew": int64(c.MaxSkew), "topology_key": clean(c.TopologyKey), "min_domains": int64(1), "match_label_keys": cleaned(c.MatchLabelKeys),
			"when":                 map[v1.UnsatisfiableConstraintAction]int64{v1.DoNotSchedule: abi.SpreadDoNotSchedule, v1.ScheduleAnyway: abi.SpreadScheduleAnyway}[c.WhenUnsatisfiable],
			"node_affinity_policy": flag01(c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == v1.NodeInclusionPolicyHonor),
			"node_taints_policy":   flag01(c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == v1.NodeInclusionPolicyHonor),
		}
		if c.MinDomains != nil {
			f["min_domains"] = int64(*c.MinDomains)
		}
		f["selector_kind"], f["selector"] = o.selector(c.LabelSelector)
		put("pod.spread", f)
	}
	for _, v := range p.Spec.Volumes {
		f := fields{"name": clean(v.Name), "claim": "", "kind": sourceName(v.VolumeSource), "image": ""}
		if v.Image != nil {
			f["image"] = clean(v.Image.Reference)
		}
		if v.PersistentVolumeClaim != nil {
			f["claim"] = clean(v.PersistentVolumeClaim.ClaimName)
		} else if v.Ephemeral != nil {
			f["claim"] = clean(p.Name + "-" + v.Name)
		}
		put("pod.volumes", f)
	}
	for _, g := range p.Spec.SchedulingGates {
		put("pod.gates", fields{"name": clean(g.Name)})
	}
	if g := p.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		put("pod.group", fields{"name": clean(*g.PodGroupName)})
	}
	return r
}

// sourceName is the JSON name of the one field that is set, by reflection.
func sourceName(s v1.VolumeSource) string {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return ""
}

func (o oracle) selector(s *metav1.LabelSelector) (int64, entries) {
	list := entries{}
	if s == nil {
		return abi.SelectorNil, list
	}
	for k, v := range s.MatchLabels {
		list = append(list, fields{"key": clean(k), "op": int64(abi.OpIn), "values": []string{clean(v)}})
	}
	o.sort(list, "key")
	for _, x := range s.MatchExpressions {
		list = append(list, fields{"key": clean(x.Key), "op": operators[string(x.Operator)], "values": cleaned(x.Values)})
	}
	return abi.SelectorSet, list
}

func (o oracle) affinity(p *v1.Pod, put func(string, fields)) {
	a := p.Spec.Affinity
	if a == nil {
		return
	}
	nodeTerm := func(required bool, weight int32, t v1.NodeSelectorTerm) {
		labels, names := entries{}, entries{}
		for _, x := range t.MatchExpressions {
			labels = append(labels, fields{"key": clean(x.Key), "op": operators[string(x.Operator)], "values": cleaned(x.Values)})
		}
		for _, x := range t.MatchFields {
			values := entries{}
			for _, s := range x.Values {
				values = append(values, fields{"text": clean(s)})
			}
			names = append(names, fields{"key": clean(x.Key), "op": operators[string(x.Operator)], "values": values})
		}
		put("pod.node_affinity", fields{"required": flag01(required), "weight": int64(weight), "labels": labels, "fields": names})
	}
	if n := a.NodeAffinity; n != nil {
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			for _, t := range n.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
				nodeTerm(true, 0, t)
			}
		}
		for _, t := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			nodeTerm(false, t.Weight, t.Preference)
		}
	}
	podTerm := func(flags int64, weight int32, t v1.PodAffinityTerm) {
		f := fields{"flags": flags, "weight": int64(weight), "topology_key": clean(t.TopologyKey), "pod": int64(0), "namespaces": cleaned(t.Namespaces)}
		if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
			f["namespaces"] = []string{clean(p.Namespace)}
		}
		f["selector_kind"], f["selector"] = o.selector(t.LabelSelector)
		f["namespace_selector_kind"], f["namespace_selector"] = o.selector(t.NamespaceSelector)
		put("pod.pod_affinity", f)
	}
	affinity, anti := &v1.PodAffinity{}, &v1.PodAntiAffinity{}
	if a.PodAffinity != nil {
		affinity = a.PodAffinity
	}
	if a.PodAntiAffinity != nil {
		anti = a.PodAntiAffinity
	}
	for _, t := range affinity.RequiredDuringSchedulingIgnoredDuringExecution {
		podTerm(abi.PodTermRequired, 0, t)
	}
	for _, t := range anti.RequiredDuringSchedulingIgnoredDuringExecution {
		podTerm(abi.PodTermRequired|abi.PodTermAnti, 0, t)
	}
	for _, t := range slices.Clone(affinity.PreferredDuringSchedulingIgnoredDuringExecution) {
		podTerm(0, t.Weight, t.PodAffinityTerm)
	}
	for _, t := range anti.PreferredDuringSchedulingIgnoredDuringExecution {
		podTerm(abi.PodTermAnti, t.Weight, t.PodAffinityTerm)
	}
}
