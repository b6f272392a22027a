// SPDX-License-Identifier: Apache-2.0

package berth

import (
	"unsafe"

	"github.com/berth-scheduler/berth/abi"
)

// ID is an interned string: label keys and values, taint keys, resource names,
// namespaces, images. Two IDs of one instance are equal exactly if their
// strings are, so comparing labels is comparing numbers. An ID means nothing
// outside the instance that it comes from.
type ID uint32

// String is the ID's text. It doesn't allocate, and stays valid as long as the
// instance lives.
func (id ID) String() string {
	if id < ID(current.stringsLen) {
		ref := unsafe.Add(current.strings, uintptr(id)*abi.StringRefSize)
		return unsafe.String((*byte)(at(u32(ref, 0))), u32(ref, 4))
	}
	return symbolText(id) // interned since the call began
}

// Symbol is a string that a policy compares with what it finds in pods and
// nodes. It is made once, mostly as a package variable, and asks the host for
// its ID when that is first needed:
//
//	var zone = berth.NewSymbol("topology.kubernetes.io/zone")
//
// Symbols of equal text are equal. The zero Symbol is the empty string.
type Symbol struct{ s *symbol }

type symbol struct {
	text string
	id   ID
}

// symbols are all symbols by their text; it needs lock.
var symbols = map[string]*symbol{}

// NewSymbol returns the symbol of a text. The text stays in memory for good:
// symbols are for what a policy and its config name, not for what it reads.
func NewSymbol(text string) Symbol {
	if text == "" {
		return Symbol{}
	}
	lock()
	defer unlock()
	s := symbols[text]
	if s == nil {
		s = &symbol{text: text}
		symbols[text] = s
	}
	return Symbol{s}
}

// String is the symbol's text.
func (s Symbol) String() string {
	if s.s == nil {
		return ""
	}
	return s.s.text
}

// ID is the symbol's ID in this instance. It mustn't be called before the
// policy's first call (configure), so not while package variables are set.
func (s Symbol) ID() ID {
	if s.s == nil {
		return 0
	}
	if s.s.id == 0 {
		s.s.id = ID(hostIntern(s.s.text))
	}
	return s.s.id
}

func symbolText(id ID) string {
	lock()
	defer unlock()
	for text, s := range symbols {
		if s.id == id {
			return text
		}
	}
	return ""
}

// Names of resources.
var (
	CPU              = NewSymbol("cpu")
	Memory           = NewSymbol("memory")
	EphemeralStorage = NewSymbol("ephemeral-storage")
	PodCount         = NewSymbol("pods")
)

// Labels that every node has, or every node of a cloud.
var (
	Hostname     = NewSymbol("kubernetes.io/hostname")
	Arch         = NewSymbol("kubernetes.io/arch")
	OS           = NewSymbol("kubernetes.io/os")
	Zone         = NewSymbol("topology.kubernetes.io/zone")
	Region       = NewSymbol("topology.kubernetes.io/region")
	InstanceType = NewSymbol("node.kubernetes.io/instance-type")
)
