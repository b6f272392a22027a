// SPDX-License-Identifier: Apache-2.0

package berthtest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-scheduler/berth/abi"
)

// world is what the policy may read of the cluster, as the test set it.
type world struct {
	objects    map[string]map[[2]string]any // by resource, then namespace and name
	notReady   map[string]bool
	kept       map[string]keptValue
	dataSets   map[string]dataSet
	aggregates map[[2]string]map[string]any
	groups     map[[2]string]map[string]any
	nominated  map[string][]any
	statuses   map[string]map[string]any
	nodes      []*NodeBuilder
}

type keptValue struct {
	value any
	until int64 // 0 is for ever
}

type dataSet struct {
	measured int64 // Unix nanoseconds
	values   map[string]float64
}

// put sets a key of a map that may be nil.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// SetObject makes an object readable: a tree of its JSON fields. The namespace is
// empty where the resource has none; nil takes the object away.
func (h *Host) SetObject(resource, namespace, name string, object map[string]any) {
	if h.world.objects[resource] == nil {
		put(&h.world.objects, resource, map[[2]string]any{})
	}
	if object == nil {
		delete(h.world.objects[resource], [2]string{namespace, name})
		return
	}
	h.world.objects[resource][[2]string{namespace, name}] = object
}

// SetNotReady says that the host has not yet fetched a resource or a data set.
func (h *Host) SetNotReady(name string, notReady bool) { put(&h.world.notReady, name, notReady) }

// SetDataSet sets the numbers of a data set, and how old they are. Until then it
// isn't ready.
func (h *Host) SetDataSet(name string, age time.Duration, values map[string]float64) {
	put(&h.world.dataSets, name, dataSet{h.now - int64(age), values})
}

// SetAggregate sets how many assigned pods have a namespace or a label of this
// value, and what they request in all.
func (h *Host) SetAggregate(name, value string, pods int, requests map[string]int64) {
	r := map[string]any{}
	for k, v := range requests {
		r[k] = v
	}
	put(&h.world.aggregates, [2]string{name, value}, map[string]any{"pods": pods, "requests": r})
}

// SetNodes sets the cluster's nodes, with their pods, that are read as whole
// objects.
func (h *Host) SetNodes(nodes ...*NodeBuilder) { h.world.nodes = nodes }

// SetGroup makes a pod group readable.
func (h *Host) SetGroup(namespace, name string, group map[string]any) {
	put(&h.world.groups, [2]string{namespace, name}, group)
}

// SetNominated sets the pods that are nominated to a node.
func (h *Host) SetNominated(node string, pods ...*PodBuilder) {
	list := []any{}
	for _, p := range pods {
		list = append(list, map[string]any{"uid": p.uid, "namespace": p.namespace, "name": p.name, "priority": int64(p.priority)})
	}
	put(&h.world.nominated, node, list)
}

// SetNodeStatus sets why a node was rejected, for PostFilter.
func (h *Host) SetNodeStatus(node string, v Verdict) {
	put(&h.world.statuses, node, statusTree(v))
}

func statusTree(v Verdict) map[string]any {
	reasons := []string{}
	if v.Reason != "" {
		reasons = append(reasons, v.Reason)
	}
	return map[string]any{"code": int64(v.Code), "reasons": reasons}
}

// SetKept keeps a value as the policy's own Keep does.
func (h *Host) SetKept(key string, value any) { put(&h.world.kept, key, keptValue{value: value}) }

// Kept is what the policy keeps under a key, nil if nothing.
func (h *Host) Kept(key string) any {
	k := h.world.kept[key]
	if k.until != 0 && k.until <= h.now {
		return nil
	}
	return k.value
}

// answer answers the import read as the host does: refused is what isn't
// declared, and the snapshot outside a cycle.
func (h *Host) answer(q request, what abi.Read, key string) ([]byte, int64) {
	part := append(strings.Split(key, "\x00"), "", "", "")
	d, w := h.description, &h.world
	if int(what) >= len(reads) || reads[what].Cycle && q.cycle == 0 {
		return nil, abi.ReadRefused
	}
	var tree any
	refused := false
	switch what {
	case abi.ReadPod:
		if q.who != nil {
			tree = q.who.tree("")
		}
	case abi.ReadNode:
		if n := w.node(part[0]); n != nil {
			tree = n.tree()
		}
	case abi.ReadPodOnNode:
		if n := w.node(part[0]); n != nil {
			for _, p := range n.pods {
				if p.uid == part[1] {
					tree = p.tree(n.name)
				}
			}
		}
	case abi.ReadObject, abi.ReadObjects:
		refused = !slices.ContainsFunc(d.Resources, func(r abi.Resource) bool { return r.Name == part[0] })
		if what == abi.ReadObjects {
			tree = w.list(part[0], part[1], part[2])
		} else if o, ok := w.objects[part[0]][[2]string{part[1], part[2]}]; ok {
			tree = o
		}
	case abi.ReadState:
		tree = h.Kept(key)
	case abi.ReadDataSet:
		refused = !slices.Contains(d.DataSets, part[0])
		tree = w.dataSets[part[0]].tree(part[1], h.now)
	case abi.ReadAggregate:
		refused = !slices.Contains(d.Aggregates, part[0])
		tree = map[string]any{"pods": 0, "requests": map[string]any{}}
		if a, ok := w.aggregates[[2]string{part[0], part[1]}]; ok {
			tree = a
		}
	case abi.ReadWaiting:
		tree = h.waitingTree()
	case abi.ReadGroup:
		tree = orNil(w.groups[[2]string{part[0], part[1]}])
	case abi.ReadNominated:
		if l, ok := w.nominated[part[0]]; ok {
			tree = l
		} else {
			tree = []any{}
		}
	case abi.ReadNodeStatus:
		refused = !q.rejected
		tree = orNil(w.statuses[part[0]])
	}
	switch {
	case refused:
		return nil, abi.ReadRefused
	case w.notReady[part[0]], what == abi.ReadDataSet && w.dataSets[part[0]].values == nil:
		return nil, abi.ReadNotReady
	case tree == nil:
		return nil, abi.ReadAbsent
	}
	record, err := abi.EncodeValue(tree)
	if err != nil {
		panic("berthtest: read " + reads[what].Name + ": " + err.Error())
	}
	return record, 0
}

var reads = abi.ReadTable()

// orNil makes a nil map a nil tree.
func orNil(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

func (w *world) node(name string) *NodeBuilder {
	for _, n := range w.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

// list are the objects of a resource that a selector selects, by namespace and
// name.
func (w *world) list(resource, namespace, selector string) []any {
	list := []any{}
	keys := slices.SortedFunc(maps.Keys(w.objects[resource]), func(a, b [2]string) int {
		return strings.Compare(a[0]+"\x00"+a[1], b[0]+"\x00"+b[1])
	})
	for _, k := range keys {
		object := w.objects[resource][k]
		if (namespace == "" || namespace == k[0]) && selects(selector, labelsOf(object)) {
			list = append(list, object)
		}
	}
	return list
}

func labelsOf(object any) map[string]any {
	tree, _ := object.(map[string]any)
	meta, _ := tree["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	return labels
}

// tree is what a read of the data set gives: nil where the key has no value.
func (d dataSet) tree(key string, now int64) any {
	if d.values == nil {
		return nil
	}
	if key == "" {
		all := map[string]any{}
		for k, v := range d.values {
			all[k] = v
		}
		return map[string]any{"values": all, "age_ns": now - d.measured}
	}
	if v, ok := d.values[key]; ok {
		return map[string]any{"value": v, "age_ns": now - d.measured}
	}
	return nil
}
