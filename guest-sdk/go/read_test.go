// SPDX-License-Identifier: Apache-2.0

package berth_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	berth "github.com/berth-scheduler/berth/guest-sdk/go"
	"github.com/berth-scheduler/berth/guest-sdk/go/berthtest"
)

const quotas = "example.com/v1/quotas"

// reading calls a function from Filter and PreEnqueue.
type reading func(c *berth.Cycle) (berth.Object, *berth.Status)

func (f reading) answer(c *berth.Cycle) *berth.Status {
	o, s := f(c)
	switch {
	case s != nil:
		return s
	case !o.Exists():
		return berth.UnschedulableAndUnresolvable("absent")
	}
	return berth.UnschedulableAndUnresolvable("got " + o.Text() + " " + strings.Repeat("+", int(o.Int())) + strings.Repeat("#", o.Len()))
}

func (f reading) PreEnqueue(c *berth.Cycle, _ berth.Pod) *berth.Status { return f.answer(c) }

func (f reading) Filter(c *berth.Cycle, _ berth.Pod, _ berth.Node) *berth.Status { return f.answer(c) }

var readingPolicy = berth.Policy{
	Name: "reading", Version: "1", Resources: []berth.Resource{{Name: quotas, Fields: []string{"spec"}}},
	DataSets: []string{"watts"}, Aggregates: []string{"label/team"}, Intents: []berth.Intent{berth.IntentState},
}

func TestReads(t *testing.T) {
	get := func(o berth.Object, s *berth.Status, path ...string) (berth.Object, *berth.Status) {
		return o.Get(path...), s
	}
	for name, c := range map[string]struct {
		read reading
		want string
	}{
		"pod": {func(c *berth.Cycle) (berth.Object, *berth.Status) {
			o, s := c.WholePod()
			return get(o, s, "metadata", "name")
		}, "got web "},
		"pod's own": {func(c *berth.Cycle) (berth.Object, *berth.Status) {
			o, s := c.WholePod()
			return get(o, s, "spec", "hostname")
		}, "got h "},
		"node": {func(c *berth.Cycle) (berth.Object, *berth.Status) {
			o, s := c.WholeNode("n")
			return get(o, s, "metadata", "labels", "pool")
		}, "got red "},
		"no node": {func(c *berth.Cycle) (berth.Object, *berth.Status) { return c.WholeNode("m") }, "absent"},
		"pod on": {func(c *berth.Cycle) (berth.Object, *berth.Status) {
			o, s := c.PodOn("n", "uid-ns-old")
			return get(o, s, "spec", "nodeName")
		}, "got n "},
		"object": {func(c *berth.Cycle) (berth.Object, *berth.Status) {
			o, s := c.Object(quotas, "ns", "q")
			return get(o, s, "spec", "min")
		}, "got  ++"},
		"no object": {func(c *berth.Cycle) (berth.Object, *berth.Status) { return c.Object(quotas, "", "q") }, "absent"},
		"no field": {func(c *berth.Cycle) (berth.Object, *berth.Status) {
			o, s := c.Object(quotas, "ns", "q")
			return get(o, s, "a", "b", "c")
		}, "absent"},
		"objects": {func(c *berth.Cycle) (berth.Object, *berth.Status) { return c.Objects(quotas, "", "") }, "got  ##"},
		"of a kind": {func(c *berth.Cycle) (berth.Object, *berth.Status) {
			return c.Objects(quotas, "", "team in (red, blue),!old")
		}, "got  #"},
		"of a place": {func(c *berth.Cycle) (berth.Object, *berth.Status) { return c.Objects(quotas, "other", "") }, "got  #"},
		"nothing":    {func(c *berth.Cycle) (berth.Object, *berth.Status) { return c.Objects(quotas, "", "team=green") }, "got  "},
		"kept":       {func(c *berth.Cycle) (berth.Object, *berth.Status) { return c.Kept("k") }, "got v "},
		"not kept":   {func(c *berth.Cycle) (berth.Object, *berth.Status) { return c.Kept("l") }, "absent"},
		"data": {func(c *berth.Cycle) (berth.Object, *berth.Status) {
			o, s := c.DataSet("watts", "n")
			return get(o, s, "value")
		}, "got  ++"},
		"old data": {func(c *berth.Cycle) (berth.Object, *berth.Status) {
			o, s := c.DataSet("watts", "n")
			return get(o, s, "age_ns")
		}, "got  +++"},
		"all data": {func(c *berth.Cycle) (berth.Object, *berth.Status) {
			o, s := c.DataSet("watts", "")
			return get(o, s, "values")
		}, "got  #"},
		"aggregate": {func(c *berth.Cycle) (berth.Object, *berth.Status) {
			o, s := c.Aggregate("label/team", "red")
			return get(o, s, "pods")
		}, "got  +++"},
		"group": {func(c *berth.Cycle) (berth.Object, *berth.Status) {
			o, s := c.Group("ns", "g")
			return get(o, s, "name")
		}, "got g "},
		"nominated": {func(c *berth.Cycle) (berth.Object, *berth.Status) { return c.Nominated("n") }, "got  #"},
		"long": {func(c *berth.Cycle) (berth.Object, *berth.Status) {
			var last berth.Object
			for range 3 { // more than the space that is there at first
				o, s := c.Object(quotas, "other", "long")
				if s != nil || len(o.Get("spec", "text").Text()) != 5000 || last.Exists() && last.Get("metadata", "name").Text() != "long" {
					return berth.Object{}, berth.Error("wrong")
				}
				last = o
			}
			return last.Get("metadata", "name"), nil
		}, "got long "},
	} {
		t.Run(name, func(t *testing.T) {
			h := berthtest.New(t, &readingPolicy, c.read, nil)
			node := berthtest.Node("n").Label("pool", "red").Pod(berthtest.Pod("ns", "old"))
			h.SetNodes(node)
			object := func(name, team string, spec map[string]any) map[string]any {
				return map[string]any{"metadata": map[string]any{"name": name, "labels": map[string]any{"team": team}}, "spec": spec}
			}
			h.SetObject(quotas, "ns", "q", object("q", "red", map[string]any{"min": 2}))
			h.SetObject(quotas, "other", "long", object("long", "yellow", map[string]any{"text": strings.Repeat("x", 5000)}))
			h.SetKept("k", "v")
			h.SetDataSet("watts", 3, map[string]float64{"n": 2.5})
			h.SetAggregate("label/team", "red", 3, nil)
			h.SetGroup("ns", "g", map[string]any{"name": "g"})
			h.SetNominated("n", berthtest.Pod("ns", "p"))
			pod := berthtest.Pod("ns", "web").Field("h", "spec", "hostname")
			if got := h.Filter(pod, node)[0].Reason; got != c.want {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}

func TestReadRefused(t *testing.T) {
	for want, read := range map[string]reading{
		`node "n"`:        func(c *berth.Cycle) (berth.Object, *berth.Status) { return c.WholeNode("n") },
		`group "ns" "g"`:  func(c *berth.Cycle) (berth.Object, *berth.Status) { return c.Group("ns", "g") },
		`node_status "n"`: func(c *berth.Cycle) (berth.Object, *berth.Status) { return c.NodeStatus("n") },
		`object "v1/secrets" "ns" "s": add it to Policy.Resources`: func(c *berth.Cycle) (berth.Object, *berth.Status) {
			return c.Object("v1/secrets", "ns", "s")
		},
	} {
		h := berthtest.New(t, &readingPolicy, read, nil)
		if got := panics(t, func() { h.PreEnqueue(berthtest.Pod("ns", "p")) }); !strings.Contains(got, "pre_enqueue: the host refuses to read "+want) {
			t.Errorf("want a panic about %s, got %q", want, got)
		}
	}
}

func TestReadNotReady(t *testing.T) {
	h := berthtest.New(t, &readingPolicy, reading(func(c *berth.Cycle) (berth.Object, *berth.Status) { return c.Objects(quotas, "", "") }), nil)
	h.SetNotReady(quotas, true)
	if got := h.PreEnqueue(berthtest.Pod("ns", "p")); got.Code != berthtest.Error || got.Reason == "" {
		t.Errorf("want an error, got %v", got)
	}
	fresh := berthtest.New(t, &readingPolicy, reading(func(c *berth.Cycle) (berth.Object, *berth.Status) { return c.DataSet("watts", "n") }), nil)
	if got := fresh.PreEnqueue(berthtest.Pod("ns", "p")); got.Code != berthtest.Error {
		t.Errorf("a data set that was never set: want an error, got %v", got)
	}
	h.SetNotReady(quotas, false)
	h.SetNow(time.Now())
	if got := h.PreEnqueue(berthtest.Pod("ns", "p")); got.Code != berthtest.UnschedulableAndUnresolvable {
		t.Errorf("want an answer, got %v", got)
	}
}

func TestObject(t *testing.T) {
	var seen []string
	h := berthtest.New(t, &readingPolicy, reading(func(c *berth.Cycle) (berth.Object, *berth.Status) {
		o, s := c.Kept("all")
		for e := range o.Get("list").All() {
			seen = append(seen, fmt.Sprintf("%d %v %t %s", e.Int(), e.Float(), e.Bool(), e.Text()))
		}
		m := o.Get("map")
		for i := range m.Len() {
			seen = append(seen, m.Key(i)+"="+m.At(i).Text())
		}
		seen = append(seen, fmt.Sprint(o.Get("null").Exists(), berth.Object{}.Exists(), berth.Object{}.Len()))
		return o, s
	}), nil)
	h.SetKept("all", map[string]any{"list": []any{1, 2.5, true, "x"}, "map": map[string]any{"b": "2", "a": "1"}, "null": nil})
	h.PreEnqueue(berthtest.Pod("ns", "p"))
	want := "1 1 false |2 2.5 false |0 0 true |0 0 false x|a=1|b=2|false false 0"
	if got := strings.Join(seen, "|"); got != want {
		t.Errorf("want %s, got %s", want, got)
	}
	for _, f := range []func(){func() { berth.Object{}.At(0) }, func() { berth.Object{}.Key(0) }} {
		if got := panics(t, f); !strings.Contains(got, "out of range") {
			t.Errorf("want a panic about the index, got %q", got)
		}
	}
}
