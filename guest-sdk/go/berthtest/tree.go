// SPDX-License-Identifier: Apache-2.0

package berthtest

import "maps"

// Field sets a field of what WholePod reads, and PodOn, beside those that follow
// from the builder: metadata, and of spec schedulerName, priority and nodeName.
func (p *PodBuilder) Field(value any, path ...string) *PodBuilder {
	p.fields = setField(p.fields, value, path)
	return p
}

// Field sets a field of what WholeNode reads, beside metadata and
// spec.unschedulable, which follow from the builder.
func (n *NodeBuilder) Field(value any, path ...string) *NodeBuilder {
	n.fields = setField(n.fields, value, path)
	return n
}

// setField is a copy of a tree with a value at a path.
func setField(tree map[string]any, value any, path []string) map[string]any {
	if len(path) == 0 {
		panic("berthtest: Field: want a path, got none")
	}
	tree = maps.Clone(tree)
	if tree == nil {
		tree = map[string]any{}
	}
	if len(path) > 1 {
		inner, _ := tree[path[0]].(map[string]any)
		value = setField(inner, value, path[1:])
	}
	tree[path[0]] = value
	return tree
}

func (p *PodBuilder) tree(node string) map[string]any {
	spec := map[string]any{"schedulerName": p.scheduler, "priority": int64(p.priority)}
	if node != "" {
		spec["nodeName"] = node
	}
	tree := map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": spec, "metadata": map[string]any{
		"namespace": p.namespace, "name": p.name, "uid": p.uid, "labels": texts(p.labels), "annotations": texts(p.annotations),
	}}
	return merged(tree, p.fields)
}

func (n *NodeBuilder) tree() map[string]any {
	tree := map[string]any{"apiVersion": "v1", "kind": "Node", "spec": map[string]any{"unschedulable": n.unschedulable}, "metadata": map[string]any{
		"name": n.name, "uid": n.uid, "labels": texts(n.labels), "annotations": texts(n.annotations),
	}}
	return merged(tree, n.fields)
}

// merged is a tree with the fields of another over it.
func merged(tree, over map[string]any) map[string]any {
	for k, v := range over {
		inner, ok := v.(map[string]any)
		if old, both := tree[k].(map[string]any); ok && both {
			v = merged(maps.Clone(old), inner)
		}
		tree[k] = v
	}
	return tree
}
