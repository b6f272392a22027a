// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/host/policy"
)

// Document is what a source holds of one policy. Its slices and pointers belong
// to the receiver of Set, which must not change what they point at.
type Document struct {
	// Key names the place and never changes: "configmap/NAMESPACE/NAME" or
	// "file/DIRECTORY".
	Key string
	// Name is the policy's name. While policy.yaml can't be read it is that of
	// the place, which may not be the name that policy.yaml gave before.
	Name string
	// PolicyYAML is policy.yaml as it is, if there is one.
	PolicyYAML []byte
	// Policy is PolicyYAML parsed, with Name as its name; nil if it can't be.
	Policy *policy.Policy
	// Module is the wasm module, uncompressed; nil if it can't be used.
	Module []byte
	// ModuleDigest is "sha256:" and the hex SHA-256 of Module.
	ModuleDigest string
	// Err says why the policy can't be used; nil means that Policy and Module
	// are set. It is one line, without the policy's name.
	Err error
	// Warnings are about labels that are ignored because they can't be read,
	// one line each.
	Warnings []string

	// Suspend is the label berth.dev/suspend: it holds whatever Err is.
	Suspend bool
	// FailurePolicy is the label berth.dev/failure-policy, or empty: what pods
	// get while Policy is nil and there is no last good version.
	FailurePolicy policy.FailurePolicy
	// Match is the annotation berth.dev/match, or nil for all: the pods that
	// FailurePolicy is about.
	Match labels.Selector

	// Ref is the object to write events on; nil for files.
	Ref *v1.ObjectReference
	// UID and ResourceVersion are those of the object; empty for files. Another
	// UID under the same Key is another policy: Delete comes between.
	UID             types.UID
	ResourceVersion string
	// Seen is when the source learned of this content.
	Seen time.Time
}

// Sink is told what a source finds, by one goroutine of that source, in the
// order in which things happened. It should return soon; while it doesn't, the
// source waits and later changes are only delayed.
type Sink interface {
	// Set is called for a new or changed document, also when only its labels
	// changed or its bytes are the same again.
	Set(Document)
	// Delete is called when a document is gone, once after its last Set.
	Delete(key string)
}

// Source is a place where policies are found.
type Source interface {
	// Run tells sink what there is and then what changes, until ctx ends. It
	// returns nil then, and an error if it can't begin. It is called once.
	Run(ctx context.Context, sink Sink) error
	// Synced reports whether sink has been told everything that was there when
	// Run was called.
	Synced() bool
	// WaitForSync waits for Synced. If ctx ends before, the error wraps that of
	// ctx and says what the source is waiting for.
	WaitForSync(ctx context.Context) error
}
