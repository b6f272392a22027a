// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// Pair is a label.
type Pair item

// Key is the label's key.
func (p Pair) Key() ID { return item(p).id(abi.PairKey) }

// Value is the label's value.
func (p Pair) Value() ID { return item(p).id(abi.PairValue) }

// Labels are the labels of a node or a pod, sorted by the ID of their key.
type Labels struct{ List[Pair] }

// ID is the ID of a label's value.
func (l Labels) ID(key Symbol) (ID, bool) { return l.lookup(key.ID()) }

func (l Labels) lookup(key ID) (ID, bool) { return pairValue(find(l.first, l.len, l.stride, key)) }

// pairValue is the value of a label that was looked for.
func pairValue(p unsafe.Pointer) (ID, bool) {
	if p == nil {
		return 0, false
	}
	return ID(u32(p, abi.PairValue)), true
}

// Value is a label's value, valid as long as the instance lives.
func (l Labels) Value(key Symbol) (string, bool) { return pairText(l.ID(key)) }

func pairText(id ID, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	return id.String(), true
}

// Has says whether there is a label, whatever its value.
func (l Labels) Has(key Symbol) bool {
	_, ok := l.ID(key)
	return ok
}

// Is says whether there is a label of this value.
func (l Labels) Is(key, value Symbol) bool {
	id, ok := l.ID(key)
	return ok && id == value.ID()
}

// Annotation is an annotation.
type Annotation item

// Key is the annotation's key.
func (a Annotation) Key() ID { return item(a).id(abi.AnnotationKey) }

// Value is the annotation's value.
func (a Annotation) Value() string { return item(a).str(abi.AnnotationValue) }

// Annotations are the annotations of a node or a pod.
type Annotations struct{ List[Annotation] }

// Value is an annotation's value.
func (l Annotations) Value(key Symbol) (string, bool) {
	p := find(l.first, l.len, l.stride, key.ID())
	if p == nil {
		return "", false
	}
	return item{l.rec, p}.str(abi.AnnotationValue), true
}

// Quantity is an amount of a resource: cpu in millicores, everything else in
// its unit.
type Quantity item

// Name is the resource's name.
func (q Quantity) Name() ID { return item(q).id(abi.QuantityName) }

// Value is the amount.
func (q Quantity) Value() int64 { return item(q).i64(abi.QuantityValue) }

// Quantities are amounts of resources, sorted by the ID of their name.
type Quantities struct{ List[Quantity] }

// Value is the amount of a resource, 0 where there is none.
func (l Quantities) Value(name Symbol) int64 {
	p := find(l.first, l.len, l.stride, name.ID())
	if p == nil {
		return 0
	}
	return i64(p, abi.QuantityValue)
}

// Port is a port of a container, or a host port in use on a node.
type Port item

// IP is the host's address, 0.0.0.0 where none was given.
func (p Port) IP() ID { return item(p).id(abi.PortIP) }

// Protocol is TCP, UDP or SCTP.
func (p Port) Protocol() ID { return item(p).id(abi.PortProtocol) }

// HostPort is the port on the host, 0 where there is none.
func (p Port) HostPort() int32 { return item(p).i32(abi.PortHost) }

// ContainerPort is the port in the container, 0 on a node.
func (p Port) ContainerPort() int32 { return item(p).i32(abi.PortContainer) }

// ConflictsWith says whether two ports can't be open on one node: they have the
// host port and the protocol in common, and an address or one is on all.
func (p Port) ConflictsWith(other Port) bool {
	port := p.HostPort()
	return port > 0 && port == other.HostPort() && p.Protocol() == other.Protocol() &&
		(p.IP() == other.IP() || p.IP() == allAddresses.ID() || other.IP() == allAddresses.ID())
}

var allAddresses = NewSymbol("0.0.0.0")

// PortConflict is the pod's first port whose host port is in use on a node. It
// reads PodPorts and NodePorts.
func (p Pod) PortConflict(n Node) (Port, bool) {
	wants, used := p.Ports(), n.Ports()
	for i := range wants.len {
		want := wants.at(i)
		if want.HostPort() <= 0 {
			continue
		}
		for j := range used.len {
			if want.ConflictsWith(used.at(j)) {
				return want, true
			}
		}
	}
	return Port{}, false
}
