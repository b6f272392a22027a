// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// printer writes records in the format of the golden vectors.
type printer struct {
	strings.Builder
	rec    unsafe.Pointer
	indent string
	bullet bool
}

func (p *printer) line(format string, args ...any) {
	indent := p.indent
	if p.bullet {
		indent, p.bullet = indent[2:]+"- ", false
	}
	fmt.Fprintf(p, indent+format+"\n", args...)
}

func (p *printer) id(name string, id ID)           { p.line("%s %q #%d", name, id.String(), id) }
func (p *printer) str(name, s string)              { p.line("%s %q", name, s) }
func (p *printer) num(name string, n any)          { p.line("%s %d", name, n) }
func (p *printer) flag(name string, on bool)       { p.num(name, bit(on, 1)) }
func (p *printer) inner(name string, print func()) { p.line("%s", name); p.nested(2, print) }

func (p *printer) nested(n int, print func()) {
	outer := p.indent
	p.indent += strings.Repeat(" ", n)
	print()
	p.indent = outer
}

func bit(on bool, n int) int {
	if on {
		return n
	}
	return 0
}

// has says whether a record has a section.
func (p *printer) has(index uintptr) bool { return u32(p.rec, abi.RecordTable+4*index) != 0 }

func printList[T Item](p *printer, name string, l List[T], print func(T)) {
	p.line("%s [%d]", name, l.Len())
	for e := range l.All() {
		p.nested(4, func() {
			p.bullet = true
			print(e)
		})
	}
}

func (p *printer) ids(name string, l IDs) {
	s := ""
	for i := range l.Len() {
		s += fmt.Sprintf(" %q #%d", l.At(i).String(), l.At(i))
	}
	p.line("%s [%d]%s", name, l.Len(), s)
}

func (p *printer) labels(name string, l Labels) {
	printList(p, name, l.List, func(l Pair) {
		p.id("key", l.Key())
		p.id("value", l.Value())
	})
}

func (p *printer) annotations(name string, l Annotations) {
	printList(p, name, l.List, func(a Annotation) {
		p.id("key", a.Key())
		p.str("value", a.Value())
	})
}

func (p *printer) quantities(name string, l Quantities) {
	printList(p, name, l.List, func(q Quantity) {
		p.id("name", q.Name())
		p.num("value", q.Value())
	})
}

func (p *printer) ports(name string, l List[Port]) {
	printList(p, name, l, func(o Port) {
		p.id("ip", o.IP())
		p.id("protocol", o.Protocol())
		p.num("host_port", o.HostPort())
		p.num("container_port", o.ContainerPort())
	})
}

func (p *printer) requirements(name string, l List[Requirement]) {
	printList(p, name, l, func(r Requirement) {
		p.id("key", r.Key())
		p.num("op", r.Operator())
		p.ids("values", r.Values())
	})
}

func (p *printer) selector(name string, s Selector) {
	p.flag(name+"_kind", s.IsSet())
	p.requirements(name, s.Requirements())
}

func printNode(p *printer, n Node) {
	p.inner("node.meta", func() {
		p.str("name", n.Name())
		p.str("uid", n.UID())
		p.num("created", n.Created())
		p.flag("unschedulable", n.Unschedulable())
	})
	sections := []func(){
		abi.NodeLabels:      func() { p.labels("node.labels", n.Labels()) },
		abi.NodeAnnotations: func() { p.annotations("node.annotations", n.Annotations()) },
		abi.NodeTaints: func() {
			printList(p, "node.taints", n.Taints(), func(t Taint) {
				p.id("key", t.Key())
				p.id("value", t.Value())
				p.num("effect", t.Effect())
				p.num("added", t.Added())
			})
		},
		abi.NodeConditions: func() {
			printList(p, "node.conditions", n.Conditions(), func(c Condition) {
				p.id("type", c.Type())
				p.num("status", c.Status())
				p.id("reason", c.Reason())
				p.num("transition", c.Changed())
			})
		},
		abi.NodeResources: func() {
			printList(p, "node.resources", n.Resources(), func(r NodeResource) {
				p.id("name", r.Name())
				p.num("allocatable", r.Allocatable())
				p.num("capacity", r.Capacity())
				p.num("requested", r.Requested())
				p.num("non_zero_requested", r.NonZeroRequested())
			})
		},
		abi.NodePorts: func() { p.ports("node.ports", n.Ports()) },
		abi.NodeImages: func() {
			printList(p, "node.images", n.Images(), func(i NodeImage) {
				p.id("name", i.Name())
				p.num("nodes", i.Nodes())
				p.num("bytes", i.Bytes())
			})
		},
		abi.NodePods: func() { printList(p, "node.pods", n.Pods(), func(o NodePod) { printNodePod(p, o) }) },
		abi.NodePVCs: func() {
			printList(p, "node.pvcs", n.PVCs(), func(c NodePVC) {
				p.str("name", c.Name())
				p.num("count", c.Pods())
			})
		},
		abi.NodeFeatures: func() {
			printList(p, "node.features", n.Features(), func(f Feature) { p.id("name", f.Name()) })
		},
		abi.NodePodAffinity: func() {
			printList(p, "node.pod_affinity", n.PodAffinity(), func(t PodTerm) { printPodTerm(p, t) })
		},
	}
	printSections(p, sections)
}

func printSections(p *printer, sections []func()) {
	for i, print := range sections {
		if print != nil && p.has(uintptr(i)) {
			print()
		}
	}
}

func printNodePod(p *printer, o NodePod) {
	p.id("namespace", o.Namespace())
	p.num("flags", bit(o.Nominated(), 1)|bit(o.Terminating(), 2))
	p.str("name", o.Name())
	p.str("uid", o.UID())
	p.num("priority", o.Priority())
	p.id("owner_kind", o.OwnerKind())
	p.str("owner_name", o.OwnerName())
	p.str("owner_uid", o.OwnerUID())
	p.num("started", o.Started())
	p.num("deletion", o.Deletion())
	p.labels("labels", o.Labels())
	p.quantities("requests", o.Requests())
	p.quantities("limits", o.Limits())
}
