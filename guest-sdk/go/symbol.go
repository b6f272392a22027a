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
	if id >= ID(current.stringsLen) {
		return current.textOf(id)
	}
	ref := unsafe.Add(current.strings, uintptr(id)*abi.StringRefSize)
	return unsafe.String((*byte)(at(u32(ref, 0))), u32(ref, 4))
}

// Intern asks the host for the ID of a text. It is for what a policy and its
// config name; what the policy reads has its ID already. It may be called from
// the first call (configure) on, so not while package variables are set.
func Intern(text string) ID {
	if text == "" {
		return 0
	}
	id := ID(hostIntern(text))
	if id >= ID(current.stringsLen) {
		current.interned = append(current.interned, interned{id, text})
	}
	return id
}

// interned is a string that isn't in the table of the call in progress.
type interned struct {
	id   ID
	text string
}

func (g *guest) textOf(id ID) string {
	for _, i := range g.interned {
		if i.id == id {
			return i.text
		}
	}
	return ""
}

// Symbol is a string that a policy compares with what it finds in pods and
// nodes. It is made once, mostly as a package variable, and asks the host for
// its ID when that is first needed:
//
//	var zone = berth.NewSymbol("topology.kubernetes.io/zone")
//
// Compare symbols by ID or String: two symbols of one text needn't be equal. The
// zero Symbol is the empty string.
type Symbol struct{ s *symbol }

type symbol struct {
	text string
	id   ID
}

// NewSymbol returns a symbol of a text.
func NewSymbol(text string) Symbol { return Symbol{&symbol{text: text}} }

// String is the symbol's text.
func (s Symbol) String() string {
	if s.s == nil {
		return ""
	}
	return s.s.text
}

// ID is the symbol's ID in this instance. As Intern, it mustn't be called while
// package variables are set.
func (s Symbol) ID() ID {
	if s.s == nil {
		return 0
	}
	if s.s.id == 0 {
		s.s.resolve()
	}
	return s.s.id
}

//go:noinline
func (s *symbol) resolve() { s.id = Intern(s.text) }

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
