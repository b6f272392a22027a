// SPDX-License-Identifier: Apache-2.0

// Package source finds policies: in labelled ConfigMaps of one namespace, and
// in a directory.
//
//	ConfigMaps ──informer──┐            ┌─ Set(Document)
//	                       ├─ Assemble ─┤            ──► Sink
//	directory ──fsnotify───┘            └─ Delete(key)
//
// A source says what is there, not what to do about it: a policy whose bytes
// can't be used is a [Document] with Err set, so that whoever holds its last
// good version can keep it and report why. Nothing is polled.
package source
