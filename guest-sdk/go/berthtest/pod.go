// SPDX-License-Identifier: Apache-2.0

package berthtest

import (
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi"
)

// PodBuilder makes a pod of one container. Its methods change it and return it.
type PodBuilder struct {
	namespace, name, uid string
	scheduler            string
	class, runtimeClass  string
	account              string
	priority             int32
	flags                uint32
	created, deletion    int64
	started              int64
	nominatedNode, node  string
	labels, annotations  map[string]string
	owners               []owner
	requests, limits     map[string]int64
	image                string
	nodeSelector         map[string]string
	nodeTerms            []nodeTerm
	podTerms             []podTerm
	tolerations          []toleration
	spread               []spread
	ports                []port
	volumes              []volume
	gates                []string
	group                string
	fields               map[string]any // beside what follows from the others
}

type owner struct{ apiVersion, kind, name string }

type toleration struct{ key, op, value, effect string }

type volume struct{ name, claim, kind, image string }

// Pod returns a pod that requests nothing.
func Pod(namespace, name string) *PodBuilder {
	return &PodBuilder{
		namespace: namespace, name: name, uid: "uid-" + namespace + "-" + name, scheduler: "berth",
		labels: map[string]string{}, annotations: map[string]string{},
		requests: map[string]int64{}, limits: map[string]int64{},
		nodeSelector: map[string]string{},
	}
}

// Label sets a label.
func (p *PodBuilder) Label(key, value string) *PodBuilder {
	p.labels[key] = value
	return p
}

// Annotation sets an annotation.
func (p *PodBuilder) Annotation(key, value string) *PodBuilder {
	p.annotations[key] = value
	return p
}

// UID sets the UID.
func (p *PodBuilder) UID(uid string) *PodBuilder {
	p.uid = uid
	return p
}

// Priority sets the priority.
func (p *PodBuilder) Priority(priority int32) *PodBuilder {
	p.priority = priority
	return p
}

// PriorityClass sets the name of the priority class.
func (p *PodBuilder) PriorityClass(name string) *PodBuilder {
	p.class = name
	return p
}

// SchedulerName sets the profile.
func (p *PodBuilder) SchedulerName(name string) *PodBuilder {
	p.scheduler = name
	return p
}

// RuntimeClass sets the runtime class.
func (p *PodBuilder) RuntimeClass(name string) *PodBuilder {
	p.runtimeClass = name
	return p
}

// ServiceAccount sets the service account.
func (p *PodBuilder) ServiceAccount(name string) *PodBuilder {
	p.account = name
	return p
}

// HostNetwork puts the pod on the host's network.
func (p *PodBuilder) HostNetwork() *PodBuilder {
	p.flags |= abi.PodHostNetwork
	return p
}

// NeverPreempts sets the preemption policy to Never.
func (p *PodBuilder) NeverPreempts() *PodBuilder {
	p.flags |= abi.PodNeverPreempt
	return p
}

// Created sets the time of creation, in Unix seconds.
func (p *PodBuilder) Created(seconds int64) *PodBuilder {
	p.created = seconds
	return p
}

// Started sets when a pod on a node started, in Unix seconds.
func (p *PodBuilder) Started(seconds int64) *PodBuilder {
	p.started = seconds
	return p
}

// Deleted makes the pod terminating: it is to be gone at that time, in Unix
// seconds.
func (p *PodBuilder) Deleted(seconds int64) *PodBuilder {
	p.deletion = seconds
	return p
}

// NominatedNode sets the node that preemption makes room on.
func (p *PodBuilder) NominatedNode(name string) *PodBuilder {
	p.nominatedNode = name
	return p
}

// AssignedNode sets the node that the pod is on or bound to.
func (p *PodBuilder) AssignedNode(name string) *PodBuilder {
	p.node = name
	return p
}

// Request sets what the pod requests of a resource: cpu in millicores,
// everything else in its unit.
func (p *PodBuilder) Request(resource string, amount int64) *PodBuilder {
	p.requests[resource] = amount
	return p
}

// Limit sets a limit, in Request's units.
func (p *PodBuilder) Limit(resource string, amount int64) *PodBuilder {
	p.limits[resource] = amount
	return p
}

// Image sets the container's image.
func (p *PodBuilder) Image(name string) *PodBuilder {
	p.image = name
	return p
}

// Owner makes an object the pod's managing controller.
func (p *PodBuilder) Owner(apiVersion, kind, name string) *PodBuilder {
	p.owners = append(p.owners, owner{apiVersion, kind, name})
	return p
}

// NodeSelector adds a label to the node selector.
func (p *PodBuilder) NodeSelector(key, value string) *PodBuilder {
	p.nodeSelector[key] = value
	return p
}

// Toleration adds a toleration: op is Exists, Equal, Gt or Lt, an empty effect
// is any.
func (p *PodBuilder) Toleration(key, op, value, effect string) *PodBuilder {
	p.tolerations = append(p.tolerations, toleration{key, op, value, effect})
	return p
}

// HostPort adds a TCP port on the host.
func (p *PodBuilder) HostPort(number int32) *PodBuilder {
	p.ports = append(p.ports, port{"0.0.0.0", "TCP", number, number})
	return p
}

// Claim adds a volume of a persistent volume claim.
func (p *PodBuilder) Claim(name string) *PodBuilder {
	p.volumes = append(p.volumes, volume{name, name, "persistentVolumeClaim", ""})
	return p
}

// ImageVolume adds a volume of an image.
func (p *PodBuilder) ImageVolume(name, reference string) *PodBuilder {
	p.volumes = append(p.volumes, volume{name, "", "image", reference})
	return p
}

// Volume adds a volume of another kind, like configMap.
func (p *PodBuilder) Volume(name, kind string) *PodBuilder {
	p.volumes = append(p.volumes, volume{name, "", kind, ""})
	return p
}

// Gate adds a scheduling gate.
func (p *PodBuilder) Gate(name string) *PodBuilder {
	p.gates = append(p.gates, name)
	return p
}

// Group puts the pod into a pod group.
func (p *PodBuilder) Group(name string) *PodBuilder {
	p.group = name
	return p
}

// Copy returns an independent copy of another name, for many alike pods.
func (p *PodBuilder) Copy(name string) *PodBuilder {
	c := *p
	c.name, c.uid = name, "uid-"+p.namespace+"-"+name
	for _, m := range []*map[string]string{&c.labels, &c.annotations, &c.nodeSelector} {
		*m = maps.Clone(*m)
	}
	for _, m := range []*map[string]int64{&c.requests, &c.limits} {
		*m = maps.Clone(*m)
	}
	// Appending to the copy mustn't reach the original.
	c.owners, c.tolerations, c.ports = slices.Clip(c.owners), slices.Clip(c.tolerations), slices.Clip(c.ports)
	c.nodeTerms, c.podTerms, c.spread = slices.Clip(c.nodeTerms), slices.Clip(c.podTerms), slices.Clip(c.spread)
	c.volumes, c.gates = slices.Clip(c.volumes), slices.Clip(c.gates)
	return &c
}

// qos is the pod's class, of its one container.
func (p *PodBuilder) qos() uint32 {
	if len(p.requests)+len(p.limits) == 0 {
		return abi.QoSBestEffort
	}
	for _, name := range []string{"cpu", "memory"} {
		limit, ok := p.limits[name]
		if request, set := p.requests[name]; !ok || set && request != limit {
			return abi.QoSBurstable
		}
	}
	return abi.QoSGuaranteed
}
