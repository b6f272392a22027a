// SPDX-License-Identifier: Apache-2.0

package berthtest

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/guest-sdk/go/internal/native"
)

// record is a view record being written.
type record struct {
	b    []byte
	mask uint32 // sections that the policy declared
}

func newRecord(kind uint32, sections int, mask uint32) *record {
	r := &record{mask: mask}
	r.reserve(abi.RecordTable + 4*uint32(sections))
	r.u32(abi.RecordKind, kind)
	r.u32(abi.RecordSections, uint32(sections))
	return r
}

// reserve adds n zero bytes, 8-aligned, and returns their offset.
func (r *record) reserve(n uint32) uint32 {
	at := uint32(len(r.b))
	r.b = append(r.b, make([]byte, (n+7)&^7)...)
	return at
}

func (r *record) u32(at, v uint32) { binary.LittleEndian.PutUint32(r.b[at:], v) }

func (r *record) i64(at uint32, v int64) { binary.LittleEndian.PutUint64(r.b[at:], uint64(v)) }

func (r *record) id(at uint32, s string) { r.u32(at, native.Intern(s)) }

func (r *record) flag(at uint32, on bool) {
	if on {
		r.u32(at, 1)
	}
}

func (r *record) str(at uint32, s string) {
	off := r.reserve(uint32(len(s)))
	copy(r.b[off:], s)
	r.u32(at, off)
	r.u32(at+4, uint32(len(s)))
}

// one writes a section that is a single structure.
func (r *record) one(index, size uint32, write func(at uint32)) {
	if r.mask&(1<<index) == 0 {
		return
	}
	at := r.reserve(size)
	r.u32(abi.RecordTable+4*index, at)
	write(at)
}

// list writes a section that is a list.
func list[T any](r *record, index, stride uint32, l []T, write func(at uint32, v T)) {
	if r.mask&(1<<index) == 0 {
		return
	}
	at := r.reserve(abi.ListEntries + uint32(len(l))*stride)
	r.u32(abi.RecordTable+4*index, at)
	r.u32(at+abi.ListCount, uint32(len(l)))
	r.u32(at+abi.ListStride, stride)
	for i, v := range l {
		write(at+abi.ListEntries+uint32(i)*stride, v)
	}
}

// inline writes a list that the structure at holds.
func inline[T any](r *record, at, stride uint32, l []T, write func(at uint32, v T)) {
	first := r.reserve(uint32(len(l)) * stride)
	r.u32(at, first)
	r.u32(at+4, uint32(len(l)))
	for i, v := range l {
		write(first+uint32(i)*stride, v)
	}
}

func (r *record) ids(at uint32, l []string) {
	inline(r, at, 4, l, r.id)
}

// alloc puts the record into guest memory.
func (r *record) alloc() uint32 {
	r.u32(abi.RecordSizeField, uint32(len(r.b)))
	at := native.Alloc(uint32(len(r.b)))
	copy(native.Bytes(at, uint32(len(r.b))), r.b)
	return at
}

// byID are the keys of a map in the order of their ids.
func byID[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys) // so that ids don't depend on the order of the map
	for _, k := range keys {
		native.Intern(k)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(native.Intern(a), native.Intern(b)) })
	return keys
}

func (r *record) pairs(index uint32, m map[string]string) {
	list(r, index, abi.PairSize, byID(m), func(at uint32, k string) { r.pair(at, k, m[k]) })
}

func (r *record) pair(at uint32, k, v string) {
	r.id(at+abi.PairKey, k)
	r.id(at+abi.PairValue, v)
}

func (r *record) annotations(index uint32, m map[string]string) {
	list(r, index, abi.AnnotationSize, byID(m), func(at uint32, k string) {
		r.id(at+abi.AnnotationKey, k)
		r.str(at+abi.AnnotationValue, m[k])
	})
}

func (r *record) quantities(at uint32, m map[string]int64) {
	inline(r, at, abi.QuantitySize, byID(m), func(at uint32, k string) {
		r.id(at+abi.QuantityName, k)
		r.i64(at+abi.QuantityValue, m[k])
	})
}

type port struct {
	ip, protocol    string
	host, container int32
}

func (r *record) port(at uint32, p port) {
	r.id(at+abi.PortIP, p.ip)
	r.id(at+abi.PortProtocol, p.protocol)
	r.u32(at+abi.PortHost, uint32(p.host))
	r.u32(at+abi.PortContainer, uint32(p.container))
}

// The scheduler's minimum for pods that request no cpu or no memory.
var minimum = map[string]int64{"cpu": 100, "memory": 200 << 20}

// nonZero is a pod's request with that minimum.
func nonZero(requests map[string]int64, name string) int64 {
	if v, ok := requests[name]; ok {
		return v
	}
	return minimum[name]
}

// effects are the effects of taints and tolerations by name.
var effects = map[string]uint32{
	"": abi.EffectAny, "NoSchedule": abi.EffectNoSchedule,
	"PreferNoSchedule": abi.EffectPreferNoSchedule, "NoExecute": abi.EffectNoExecute,
}

// operators are those of requirements and tolerations by name.
var operators = map[string]uint32{
	"In": abi.OpIn, "NotIn": abi.OpNotIn, "Exists": abi.OpExists, "DoesNotExist": abi.OpDoesNotExist,
	"Gt": abi.OpGt, "Lt": abi.OpLt, "Equal": abi.OpEqual,
}

// known looks a word up that the test's author wrote.
func known(what string, m map[string]uint32, word string) uint32 {
	v, ok := m[word]
	if !ok {
		panic("berthtest: " + what + ": \"" + word + "\" is unknown")
	}
	return v
}
