// SPDX-License-Identifier: Apache-2.0

package berth

import "github.com/berth-scheduler/berth/abi"

func printPod(p *printer, o Pod) {
	p.inner("pod.meta", func() {
		p.id("namespace", o.Namespace())
		p.id("scheduler", o.SchedulerName())
		p.num("priority", o.Priority())
		p.id("priority_class", o.PriorityClass())
		p.num("qos", o.QoS())
		p.num("flags", bit(o.HostNetwork(), 1)|bit(o.NeverPreempts(), 2))
		p.id("runtime_class", o.RuntimeClass())
		p.id("service_account", o.ServiceAccount())
	})
	printSections(p, []func(){
		abi.PodLabels:      func() { p.labels("pod.labels", o.Labels()) },
		abi.PodAnnotations: func() { p.annotations("pod.annotations", o.Annotations()) },
		abi.PodOwners: func() {
			printList(p, "pod.owners", o.Owners(), func(w Owner) {
				p.id("api_version", w.APIVersion())
				p.id("kind", w.Kind())
				p.str("name", w.Name())
				p.str("uid", w.UID())
				p.flag("controller", w.Controller())
			})
		},
		abi.PodResources: func() {
			printList(p, "pod.resources", o.Resources(), func(r PodResource) {
				p.id("name", r.Name())
				p.num("request", r.Request())
				p.num("non_zero_request", r.NonZeroRequest())
				p.num("limit", r.Limit())
				p.num("overhead", r.Overhead())
			})
		},
		abi.PodContainers: func() {
			printList(p, "pod.containers", o.Containers(), func(c Container) {
				p.str("name", c.Name())
				p.num("kind", c.Kind())
				p.id("image", c.Image())
				p.quantities("requests", c.Requests())
				p.quantities("limits", c.Limits())
				p.ports("ports", c.Ports())
			})
		},
		abi.PodNodeSelector: func() { p.labels("pod.node_selector", o.NodeSelector()) },
		abi.PodNodeAffinity: func() { printList(p, "pod.node_affinity", o.NodeAffinity(), func(t NodeTerm) { printNodeTerm(p, t) }) },
		abi.PodPodAffinity:  func() { printList(p, "pod.pod_affinity", o.PodAffinity(), func(t PodTerm) { printPodTerm(p, t) }) },
		abi.PodTolerations: func() {
			printList(p, "pod.tolerations", o.Tolerations(), func(t Toleration) {
				p.id("key", t.Key())
				p.num("op", t.Operator())
				p.id("value", t.Value())
				p.num("effect", t.Effect())
				p.num("seconds", t.Seconds())
			})
		},
		abi.PodSpread: func() {
			printList(p, "pod.spread", o.SpreadConstraints(), func(s SpreadConstraint) { printSpread(p, s) })
		},
		abi.PodPorts:  func() { p.ports("pod.ports", o.Ports()) },
		abi.PodImages: func() { printList(p, "pod.images", o.Images(), func(i Image) { p.id("name", i.Name()) }) },
		abi.PodVolumes: func() {
			printList(p, "pod.volumes", o.Volumes(), func(v Volume) {
				p.str("name", v.Name())
				p.str("claim", v.Claim())
				p.id("kind", v.Kind())
				p.id("image", v.Image())
			})
		},
		abi.PodGates: func() { printList(p, "pod.gates", o.Gates(), func(g Gate) { p.id("name", g.Name()) }) },
		abi.PodGroup: func() { printGroup(p, o) },
		abi.PodIdentity: func() {
			p.inner("pod.identity", func() {
				p.str("name", o.Name())
				p.str("uid", o.UID())
				p.num("created", o.Created())
				p.num("deletion", o.Deletion())
				p.str("nominated_node", o.NominatedNode())
				p.str("node", o.AssignedNode())
			})
		},
	})
}

func printNodeTerm(p *printer, t NodeTerm) {
	p.flag("required", t.Required())
	p.num("weight", t.Weight())
	p.requirements("labels", t.Labels())
	printList(p, "fields", t.Fields(), func(r FieldRequirement) {
		p.id("key", r.Key())
		p.num("op", r.Operator())
		printList(p, "values", r.Names(), func(n Text) { p.str("text", n.String()) })
	})
}

func printPodTerm(p *printer, t PodTerm) {
	p.num("flags", bit(t.Anti(), 1)|bit(t.Required(), 2))
	p.num("weight", t.Weight())
	p.id("topology_key", t.TopologyKey())
	p.num("pod", t.Pod())
	p.selector("selector", t.Selector())
	p.ids("namespaces", t.Namespaces())
	p.selector("namespace_selector", t.NamespaceSelector())
}

func printSpread(p *printer, s SpreadConstraint) {
	p.num("max_skew", s.MaxSkew())
	p.id("topology_key", s.TopologyKey())
	p.num("when", s.When())
	p.num("min_domains", s.MinDomains())
	p.flag("node_affinity_policy", s.HonorsNodeAffinity())
	p.flag("node_taints_policy", s.HonorsTaints())
	p.selector("selector", s.Selector())
	p.ids("match_label_keys", s.MatchLabelKeys())
}

func printGroup(p *printer, o Pod) {
	if o.Group() == "" {
		p.line("pod.group [0]")
		return
	}
	p.line("pod.group [1]")
	p.nested(4, func() {
		p.bullet = true
		p.str("name", o.Group())
	})
}
