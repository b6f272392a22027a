// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// Clone is the node in memory of the policy's own, where it stays valid beyond
// the call: in PostFilter over questions. IDs in it are good in this instance.
func (n Node) Clone() Node { return Node{cloneRecord(n.rec)} }

// Clone is the pod in memory of the policy's own, as Node.Clone is.
func (p Pod) Clone() Pod { return Pod{cloneRecord(p.rec)} }

// cloneRecord copies a view record, which holds no addresses.
func cloneRecord(rec unsafe.Pointer) unsafe.Pointer {
	size := u32(rec, abi.RecordSizeField)
	words := make([]uint64, (size+7)/8)
	p := unsafe.Pointer(unsafe.SliceData(words))
	copy(unsafe.Slice((*byte)(p), size), unsafe.Slice((*byte)(rec), size))
	return p
}
