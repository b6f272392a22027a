// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/intern"
)

// MaxRecordBytes is the largest record that an Encoder writes. A node with 110
// pods of ten labels takes about 40 KiB.
const MaxRecordBytes = 1 << 20

// ErrStringsFull says that a record needs strings which the table has no room
// for: the caller starts a new epoch and encodes again. An object that doesn't
// fit an empty table either can't be shown to the policy.
var ErrStringsFull = errors.New("string table is full")

// Encoder writes the view records of one policy version: the sections that it
// declared. It keeps scratch buffers, so it must not be used concurrently;
// several Encoders may share a Strings.
type Encoder struct {
	strings   *intern.Table
	node, pod uint32 // bit i: section i

	w    writer
	full bool // a string didn't fit

	pairs   []pair
	amounts []amount
	rows    []row
	ports   []hostPort
	images  []image
	names   []string
	idents  []uint32
}

// NewEncoder makes an Encoder of the sections in reads, which must be known to
// package abi (ParseDescription sees to it); the meta sections are always
// written.
func NewEncoder(strings *intern.Table, reads []string) *Encoder {
	e := &Encoder{strings: strings}
	e.node, e.pod = abi.SectionMasks(reads)
	return e
}

// Node appends the record of a node, as the framework passed it, to dst. The
// record's offsets count from its own start. On an error, which names the node,
// the result is dst as it was.
func (e *Encoder) Node(dst []byte, ni fwk.NodeInfo) ([]byte, error) {
	if ni == nil || ni.Node() == nil {
		return dst, errors.New("view of a node: want a node, got a node info without one")
	}
	return e.record(dst, abi.NodeRecord, abi.NodeSections, "node", ni.Node(), func() { e.nodeSections(ni) })
}

// Pod appends the record of a pod to dst, as Node does.
func (e *Encoder) Pod(dst []byte, pod *v1.Pod) ([]byte, error) {
	if pod == nil {
		return dst, errors.New("view of a pod: want a pod, got none")
	}
	return e.record(dst, abi.PodRecord, abi.PodSections, "pod", pod, func() { e.podSections(pod) })
}

func (e *Encoder) record(dst []byte, kind uint32, sections []abi.Section, what string, obj metav1.Object, fill func()) ([]byte, error) {
	e.w = writer{b: dst, base: len(dst)}
	e.full = false
	defer e.release()
	e.w.reserve(abi.RecordTable + 4*len(sections))
	e.w.u32(abi.RecordKind, kind)
	e.w.u32(abi.RecordSections, uint32(len(sections)))
	fill()
	size := e.w.reserve(0)
	e.w.u32(abi.RecordSizeField, size)
	var err error
	switch {
	case size > MaxRecordBytes:
		err = fmt.Errorf("want at most %d bytes, got %d", MaxRecordBytes, size)
	case e.full:
		err = ErrStringsFull
	}
	if err != nil {
		return e.w.b[:len(dst)], fmt.Errorf("view of %s %q: %w", what, obj.GetName(), err)
	}
	return e.w.b, nil
}

// release lets go of the object's strings and of the caller's buffer.
func (e *Encoder) release() {
	clear(e.pairs[:cap(e.pairs)])
	clear(e.amounts[:cap(e.amounts)])
	clear(e.rows[:cap(e.rows)])
	clear(e.ports[:cap(e.ports)])
	clear(e.images[:cap(e.images)])
	clear(e.names[:cap(e.names)])
	e.w = writer{}
}

// id interns s. Where the table is full it notes that, and the record fails.
func (e *Encoder) id(s string) uint32 {
	id, ok := e.strings.ID(s)
	if !ok {
		e.full = true
	}
	return id
}

// section starts a section of one entry and returns the entry's offset.
func (e *Encoder) section(index uint32, size uint32) uint32 {
	off := e.w.reserve(int(size))
	e.w.u32(abi.RecordTable+4*index, off)
	return off
}

// listSection starts a section of n entries and returns the first one's offset.
func (e *Encoder) listSection(index uint32, n int, stride uint32) uint32 {
	off := e.w.reserve(abi.ListEntries + n*int(stride))
	e.w.u32(abi.RecordTable+4*index, off)
	e.w.u32(off+abi.ListCount, uint32(n))
	e.w.u32(off+abi.ListStride, stride)
	return off + abi.ListEntries
}

// idList writes a list of interned strings at, in their order.
func (e *Encoder) idList(at uint32, list []string) {
	off := e.w.list(at, len(list), 4)
	for i, s := range list {
		e.w.u32(off+uint32(i)*4, e.id(s))
	}
}

// seconds is t in Unix seconds, 0 for none.
func seconds(t *metav1.Time) int64 {
	if t.IsZero() { // of nil too
		return 0
	}
	return t.Unix()
}
