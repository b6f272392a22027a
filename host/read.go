// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/view"
)

// reading is a guest's call of the import read.
type reading struct {
	host    *Host
	version *version
	point   abi.Point
	pod     *v1.Pod // of the call; nil where there is none
	cycle   *cycle  // nil at points outside a serial cycle: no snapshot may be read
	key     []string
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
)

// readers answer the reads, by abi.Read.
var readers = map[abi.Read]func(r *reading) readAnswer{
	abi.ReadPod:        readPod,
	abi.ReadGroup:      readGroup,
	abi.ReadNominated:  readNominated,
	abi.ReadNodeStatus: readNodeStatus,
}

var readTable = abi.ReadTable()

// read answers the import read of an instance in a call.
func (r *reading) read(what abi.Read, key string) ([]byte, int64) {
	f := readers[what]
	if f == nil || readTable[what].Cycle && r.cycle == nil {
		return nil, abi.ReadRefused
	}
	r.key = strings.Split(key, "\x00")
	a := f(r)
	if a.record != nil {
		return a.record, 0
	}
	if a.tree == nil {
		return nil, a.code
	}
	record, err := view.ValueOf(a.tree)
	if err != nil {
		r.version.log(abi.LogError, "read "+readTable[what].Name+": "+err.Error())
		return nil, abi.ReadAbsent
	}
	return record, 0
}

// part is part i of the key, empty where it has fewer.
func (r *reading) part(i int) string {
	if i < len(r.key) {
		return r.key[i]
	}
	return ""
}

func readPod(r *reading) readAnswer {
	if r.pod == nil {
		return absent
	}
	return readAnswer{tree: r.pod}
}
