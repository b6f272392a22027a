// SPDX-License-Identifier: Apache-2.0

package data

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxFields bounds the paths of one declared resource.
const maxFields = 64

// kept are the keys of metadata that a trimmed object always has.
var kept = []string{"name", "namespace", "uid", "labels"}

// Fields are the parts of an object that are kept, as trees of keys; nil keeps
// everything.
type Fields struct{ root branch }

// branch is the kept keys of a map with what is kept below them; empty is
// everything.
type branch map[string]branch

// ParseFields reads paths like "spec.min". None keeps everything.
func ParseFields(paths []string) (Fields, error) {
	if len(paths) == 0 {
		return Fields{}, nil
	}
	if len(paths) > maxFields {
		return Fields{}, fmt.Errorf("fields: want at most %d, got %d", maxFields, len(paths))
	}
	f := Fields{branch{"apiVersion": {}, "kind": {}}}
	for _, k := range kept {
		f.add([]string{"metadata", k})
	}
	for _, p := range paths {
		keys := strings.Split(p, ".")
		if slices.Contains(keys, "") {
			return Fields{}, fmt.Errorf("fields: want paths like spec.min, got %q", p)
		}
		f.add(keys)
	}
	return f, nil
}

// add keeps a path. What is kept whole already stays whole.
func (f Fields) add(keys []string) {
	at := f.root
	for i, k := range keys {
		next, known := at[k]
		switch {
		case i == len(keys)-1:
			at[k] = branch{}
			return
		case !known:
			next = branch{}
			at[k] = next
		case len(next) == 0:
			return
		}
		at = next
	}
}

// and is the fields with one more kept.
func (f Fields) and(path ...string) Fields {
	if f.root == nil {
		return f
	}
	out := Fields{f.root.clone()}
	out.add(path)
	return out
}

func (b branch) clone() branch {
	out := maps.Clone(b)
	for k := range out {
		out[k] = out[k].clone()
	}
	return out
}

// trim is a copy of a tree with the kept parts only; parts of it are shared
// with the tree. In a list a path goes on in each map.
func (f Fields) trim(tree map[string]any) map[string]any {
	if f.root == nil {
		return tree
	}
	return f.root.trim(tree).(map[string]any)
}

func (b branch) trim(v any) any {
	if len(b) == 0 {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, min(len(b), len(v)))
		for k, below := range b {
			if x, ok := v[k]; ok {
				out[k] = below.trim(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = b.trim(v[i])
		}
		return out
	}
	return v
}
