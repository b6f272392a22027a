// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// stringRef is how a string crosses to the host.
type stringRef struct{ ptr, len uint32 }

func refTo(s string) stringRef {
	if s == "" {
		return stringRef{}
	}
	return stringRef{address(unsafe.Pointer(unsafe.StringData(s)), len(s)), uint32(len(s))}
}

// frame is the call that is being answered.
type frame struct{ at, result unsafe.Pointer }

func newFrame(address uint32) frame {
	p := at(address)
	return frame{p, at(u32(p, abi.FrameResultPtr))}
}

func (f frame) point() abi.Point { return abi.Point(u16(f.at, abi.FramePoint)) }
func (f frame) phase() abi.Phase { return abi.Phase(u16(f.at, abi.FramePhase)) }
func (f frame) pod() Pod         { return Pod{at(u32(f.at, abi.FramePodPtr))} }
func (f frame) nodes() uint32    { return u32(f.at, abi.FrameNodesLen) }

// node is node i of the call.
func (f frame) node(i uint32) Node {
	ref := unsafe.Add(at(u32(f.at, abi.FrameNodesPtr)), uintptr(i)*abi.NodeRefSize)
	return Node{at(u32(ref, abi.NodeRefPtr))}
}

// arg are the bytes of the call's argument.
func (f frame) arg() []byte {
	return unsafe.Slice((*byte)(at(u32(f.at, abi.FrameArgPtr))), u32(f.at, abi.FrameArgLen))
}

// other is the argument of add_pod and remove_pod.
func (f frame) other() Pod { return Pod{at(u32(f.at, abi.FrameArgPtr))} }

// scores are the argument of normalize_score.
func (f frame) scores() []int64 {
	return unsafe.Slice((*int64)(at(u32(f.at, abi.FrameArgPtr))), u32(f.at, abi.FrameArgLen)/8)
}

// items checks that the result has room for an item a node, and says that they
// are there.
func (f frame) items(size uint32) {
	n := f.nodes()
	if room := u32(f.at, abi.FrameResultLen); uint64(room) < abi.ResultSize+uint64(n)*uint64(size) {
		panic("berth: " + pointName(f.point()) + ": the result has no room for an item a node")
	}
	setU32(f.result, abi.ResultItemsLen, n)
}

// verdict answers for node i.
func (f frame) verdict(i uint32, s *Status) {
	p := unsafe.Add(f.result, abi.ResultSize+uintptr(i)*abi.VerdictSize)
	if s == nil {
		setU32(p, abi.VerdictCode, uint32(abi.Success))
		return
	}
	s.publish(unsafe.Add(p, abi.VerdictReasonsLen), unsafe.Add(p, abi.VerdictReasonsPtr))
	setU32(p, abi.VerdictCode, uint32(s.Code()))
}

// score answers for node i.
func (f frame) score(i uint32, score int64, s *Status) {
	p := unsafe.Add(f.result, abi.ResultSize+uintptr(i)*abi.ScoreSize)
	setI64(p, abi.ScoreValue, score)
	if s == nil {
		setU32(p, abi.ScoreCode, uint32(abi.Success))
		return
	}
	s.publish(unsafe.Add(p, abi.ScoreReasonsLen), unsafe.Add(p, abi.ScoreReasonsPtr))
	setU32(p, abi.ScoreCode, uint32(s.Code()))
}

// state says which cycle state the host shall hand out from now on.
func (f frame) state(handle uint32) { setU32(f.result, abi.ResultState, handle) }

// done answers for the call as a whole.
func (f frame) done(s *Status) {
	s.publish(unsafe.Add(f.result, abi.ResultReasonsLen), unsafe.Add(f.result, abi.ResultReasonsPtr))
	setU32(f.result, abi.ResultCode, uint32(s.Code()))
}

// payload hands bytes to the host; they must stay reachable.
func (f frame) payload(b []byte) {
	setU32(f.result, abi.ResultPayloadPtr, address(unsafe.Pointer(unsafe.SliceData(b)), len(b)))
	setU32(f.result, abi.ResultPayloadLen, uint32(len(b)))
}
