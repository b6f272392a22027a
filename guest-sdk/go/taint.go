// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"strconv"

	"github.com/berth-scheduler/berth/abi"
)

// Effect is what a taint does to pods that don't tolerate it.
type Effect uint32

// Effects of taints. AnyEffect is a toleration's that names none.
const (
	AnyEffect        Effect = abi.EffectAny
	NoSchedule       Effect = abi.EffectNoSchedule
	PreferNoSchedule Effect = abi.EffectPreferNoSchedule
	NoExecute        Effect = abi.EffectNoExecute
)

// Operator is how a requirement or a toleration compares.
type Operator uint32

// Operators.
const (
	In           Operator = abi.OpIn
	NotIn        Operator = abi.OpNotIn
	Exists       Operator = abi.OpExists
	DoesNotExist Operator = abi.OpDoesNotExist
	Gt           Operator = abi.OpGt
	Lt           Operator = abi.OpLt
	Equal        Operator = abi.OpEqual
)

// Taint is a taint of a node.
type Taint item

// Key is the taint's key.
func (t Taint) Key() ID { return item(t).id(abi.TaintKey) }

// Value is the taint's value.
func (t Taint) Value() ID { return item(t).id(abi.TaintValue) }

// Effect is what the taint does.
func (t Taint) Effect() Effect { return Effect(item(t).u32(abi.TaintEffect)) }

// Added is when a NoExecute taint was added, in Unix seconds; 0 where unknown.
func (t Taint) Added() int64 { return item(t).i64(abi.TaintAdded) }

// Toleration is a toleration of a pod.
type Toleration item

// Key is the key of the taints that are tolerated, 0 for every key.
func (t Toleration) Key() ID { return item(t).id(abi.TolerationKey) }

// Operator is Exists, Equal, Gt or Lt.
func (t Toleration) Operator() Operator { return Operator(item(t).u32(abi.TolerationOp)) }

// Value is what the taint's value is compared with.
func (t Toleration) Value() ID { return item(t).id(abi.TolerationValue) }

// Effect is the effect that is tolerated, or AnyEffect.
func (t Toleration) Effect() Effect { return Effect(item(t).u32(abi.TolerationEffect)) }

// Seconds is how long a NoExecute taint is tolerated, -1 for ever.
func (t Toleration) Seconds() int64 { return item(t).i64(abi.TolerationSeconds) }

// Tolerates says whether the toleration covers a taint.
func (t Toleration) Tolerates(taint Taint) bool {
	return t.Covers(taint.Key(), taint.Value(), taint.Effect())
}

// Covers is Tolerates for a taint that no node has.
func (t Toleration) Covers(key, value ID, effect Effect) bool {
	if e := t.Effect(); e != AnyEffect && e != effect {
		return false
	}
	if k := t.Key(); k != 0 && k != key {
		return false
	}
	switch t.Operator() {
	case Exists:
		return true
	case Equal:
		return t.Value() == value
	case Gt:
		return canonical(value) && canonical(t.Value()) && compare(value, t.Value()) > 0
	case Lt:
		return canonical(value) && canonical(t.Value()) && compare(value, t.Value()) < 0
	}
	return false
}

// canonical says whether a whole number is written as people do: the scheduler
// takes 007 and +7 for numbers in labels, but not in taints.
func canonical(id ID) bool {
	s := id.String()
	if s == "0" {
		return true
	}
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	return s != "" && '1' <= s[0] && s[0] <= '9'
}

// compare is the sign of a - b, 0 where one isn't a whole number.
func compare(a, b ID) int {
	x, err := strconv.ParseInt(a.String(), 10, 64)
	if err != nil {
		return 0
	}
	y, err := strconv.ParseInt(b.String(), 10, 64)
	switch {
	case err != nil || x == y:
		return 0
	case x < y:
		return -1
	}
	return 1
}

// Tolerates says whether one of the pod's tolerations covers a taint. It reads
// PodTolerations.
func (p Pod) Tolerates(taint Taint) bool {
	return p.Covers(taint.Key(), taint.Value(), taint.Effect())
}

// Covers is Tolerates for a taint that no node has, as the one that the
// scheduler takes a cordoned node to have.
func (p Pod) Covers(key, value ID, effect Effect) bool {
	l := p.Tolerations()
	for i := range l.len {
		if l.at(i).Covers(key, value, effect) {
			return true
		}
	}
	return false
}

// UntoleratedTaint is the node's first taint of effect NoSchedule or NoExecute
// that the pod doesn't tolerate. It reads PodTolerations and NodeTaints.
func (p Pod) UntoleratedTaint(n Node) (Taint, bool) {
	l := n.Taints()
	for i := range l.len {
		if t := l.at(i); t.Effect() != PreferNoSchedule && !p.Tolerates(t) {
			return t, true
		}
	}
	return Taint{}, false
}
