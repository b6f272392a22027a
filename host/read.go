// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/data"
	"github.com/berth-scheduler/berth/host/view"
)

// reading is a guest's call of the import read.
type reading struct {
	host    *Host
	version *version // nil: not in a call
	point   abi.Point
	pod     *v1.Pod // of the call; nil where there is none
	cycle   *cycle  // nil at points outside a serial cycle: no snapshot may be read
	key     []string
	work    int64 // fuel for what was done beside copying the answer
}

// answer is a tree for abi.EncodeValue or a finished record; without either,
// code says why.
type readAnswer struct {
	tree   any
	record []byte
	code   int64
}

var (
	absent   = readAnswer{code: abi.ReadAbsent}
	notReady = readAnswer{code: abi.ReadNotReady}
	refused  = readAnswer{code: abi.ReadRefused}
	tooLarge = readAnswer{code: abi.ReadTooLarge}
)

// readers answer the reads, by abi.Read.
var readers = map[abi.Read]func(r *reading) readAnswer{
	abi.ReadGroup:      readGroup,
	abi.ReadNominated:  readNominated,
	abi.ReadNodeStatus: readNodeStatus,
	abi.ReadPod:        readPod,
	abi.ReadNode:       readNode,
	abi.ReadPodOnNode:  readPodOnNode,
	abi.ReadObject:     readObject,
	abi.ReadObjects:    readObjects,
	abi.ReadState:      readState,
	abi.ReadDataSet:    readDataSet,
	abi.ReadAggregate:  readAggregate,
}

var readTable = abi.ReadTable()

// Fuel of reading, a unit being about 2 ns of work. [m] A pod whose record has
// 2.3 KB takes 100 µs to make a tree of, and 18 µs to encode, on a busy machine.
const (
	fuelEncoded = 4   // a byte of a record made from a tree
	fuelTree    = 20  // a byte of a record whose tree was made for it
	fuelLooked  = 100 // an object that a list looked at
)

// read answers the import read of an instance in a call.
func (r *reading) read(what abi.Read, key string) (record []byte, code, work int64) {
	f := readers[what]
	if f == nil || r.version == nil || readTable[what].Cycle && !r.inCycle() {
		return nil, abi.ReadRefused, 0
	}
	r.key, r.work = strings.Split(key, "\x00"), 0
	a := f(r)
	if a.record == nil && a.tree != nil {
		var err error
		if a.record, err = view.ValueOf(a.tree); err != nil {
			return nil, r.broken(fmt.Errorf("%s: %w", readTable[what].Name, err)).code, r.work + abi.MaxValueBytes*fuelEncoded
		}
		r.work += int64(len(a.record)) * fuelEncoded
	}
	return a.record, a.code, r.work
}

// inCycle says whether the scheduler's snapshot may be read.
func (r *reading) inCycle() bool {
	return r.cycle != nil && !slices.Contains(bindingPoints, r.point)
}

// now is the time by which ages are told: in a cycle that of its begin.
func (r *reading) now() int64 {
	if r.cycle != nil {
		return r.cycle.now
	}
	return r.host.clock().UnixNano()
}

// part is part i of the key, empty where it has fewer.
func (r *reading) part(i int) string {
	if i < len(r.key) {
		return r.key[i]
	}
	return ""
}

// broken answers a reading that went wrong, which the log says.
func (r *reading) broken(err error) readAnswer {
	r.version.log(abi.LogError, "read: "+err.Error())
	if errors.As(err, new(abi.ValueError)) {
		return tooLarge
	}
	return absent
}

// tree is an object's tree and the bytes of its record. Who reads it first pays
// for making it.
func (r *reading) tree(o *data.Object) (map[string]any, int, error) {
	made := o.Made()
	tree, size, err := o.Tree()
	if !made {
		r.work += int64(size) * fuelTree
	}
	return tree, size, err
}

// one answers with an object.
func (r *reading) one(o *data.Object, err error) readAnswer {
	if err != nil {
		return r.broken(err)
	}
	tree, _, err := r.tree(o)
	if err != nil {
		return r.broken(err)
	}
	return readAnswer{tree: tree}
}

// many answers with a list of objects. It stops where they don't fit a record.
func (r *reading) many(list []*data.Object) readAnswer {
	trees := make([]any, 0, len(list))
	total := 0
	for _, o := range list {
		tree, size, err := r.tree(o)
		if err != nil {
			return r.broken(err)
		}
		if total += size - abi.ValueHeadSize; total > abi.MaxValueBytes {
			return tooLarge
		}
		trees = append(trees, tree)
	}
	return readAnswer{tree: trees}
}
