// SPDX-License-Identifier: Apache-2.0

package abi

// Normalisations that a policy may declare. The host computes all but custom.
const (
	NormalizeNone     = "none"     // raw scores are 0..100 already
	NormalizeMax      = "max"      // the highest raw score becomes 100
	NormalizeReversed = "reversed" // as max, then 100 minus that
	NormalizeCustom   = "custom"   // the guest's normalize_score
)

// Normalizations are the words that Description.Normalize may be.
var Normalizations = []string{NormalizeNone, NormalizeMax, NormalizeReversed, NormalizeCustom}

// Description is the describe document: what a policy is and what it reads.
// It crosses as a value record whose root is a map of the keys in
// DescriptionKeys.
type Description struct {
	Name       string     // what the author calls it
	Version    string     // the author's version; free text
	Minor      int        // the lowest ABI minor that the guest needs
	Points     []string   // wire names of the points it implements
	Chunked    []string   // pre_filter, pre_score: those that want every node in chunks
	Reads      []string   // sections that it reads; the meta sections needn't be named
	Normalize  string     // one of Normalizations; empty is none
	Pure       bool       // Filter and Score depend on this pod and this node only, and on no memory of other calls
	Intents    []string   // kinds of intents that it may ask for
	Events     []string   // queueing_hint: the events it is called for; none is those that change what it reads
	Resources  []Resource // what it wants to get or list
	DataSets   []string   // names of data sets that it reads
	Aggregates []string   // sums over assigned pods that it reads: "namespace" or "label/KEY"
	Schema     any        // JSON schema of config (a tree), nil where it takes none
}

// Resource is a resource of the API server whose objects a policy reads.
type Resource struct {
	Name     string   // group/version/resource, or version/resource of the core group
	Selector string   // label selector; empty is everything
	Fields   []string // what of an object is kept, as "spec.min"; none is all. apiVersion, kind and metadata's name, namespace, uid, labels are kept always. A path goes through maps, and in a list through each of its maps
}

// DescriptionKeys are the keys of a describe document with what they hold.
var DescriptionKeys = []struct {
	Key, Type, Doc string
	Required       bool
}{
	{"name", "string", "what the author calls the policy", true},
	{"version", "string", "the author's version, free text", true},
	{"minor", "int", "the lowest ABI minor that the guest needs", true},
	{"points", "list of strings", "wire names of the points that the guest implements", true},
	{"chunked", "list of strings", "those of pre_filter and pre_score that want every node, in chunks", false},
	{"reads", "list of strings", "names of the sections that it reads", false},
	{"normalize", "string", "none, max, reversed or custom", false},
	{"pure", "bool", "Filter and Score depend on this pod and this node only", false},
	{"intents", "list of strings", "kinds of intents that it may ask for", false},
	{"events", "list of strings", "queueing_hint: the events that it is called for; without it those that change what the policy reads", false},
	{"resources", "list of maps", "what it wants to read: resource (group/version/resource), selector, fields", false},
	{"data_sets", "list of strings", "names of data sets that it reads", false},
	{"aggregates", "list of strings", "sums over assigned pods that it reads: namespace, or label/KEY", false},
	{"schema", "map", "JSON schema of its config", false},
}

// Encode writes the document as a value record.
func (d *Description) Encode() ([]byte, error) {
	m := map[string]any{"name": d.Name, "version": d.Version, "minor": d.Minor, "points": d.Points}
	for _, l := range []struct {
		key string
		val []string
	}{{"chunked", d.Chunked}, {"reads", d.Reads}, {"intents", d.Intents}, {"events", d.Events}, {"data_sets", d.DataSets}, {"aggregates", d.Aggregates}} {
		if len(l.val) > 0 {
			m[l.key] = l.val
		}
	}
	if len(d.Resources) > 0 {
		m["resources"] = resourceTree(d.Resources)
	}
	if d.Normalize != "" {
		m["normalize"] = d.Normalize
	}
	if d.Pure {
		m["pure"] = true
	}
	if d.Schema != nil {
		m["schema"] = d.Schema
	}
	return EncodeValue(m)
}

// DescribeError says what is wrong with a describe document.
type DescribeError string

func (e DescribeError) Error() string { return "describe document: " + string(e) }

func resourceTree(list []Resource) []any {
	var out []any
	for _, r := range list {
		m := map[string]any{"resource": r.Name}
		if r.Selector != "" {
			m["selector"] = r.Selector
		}
		if len(r.Fields) > 0 {
			m["fields"] = r.Fields
		}
		out = append(out, m)
	}
	return out
}

// ParseDescription reads and checks a describe document: keys and types, every
// point, section and normalisation known, nothing named twice.
func ParseDescription(rec []byte) (*Description, error) {
	if len(rec) > MaxPayloadBytes {
		return nil, DescribeError("want at most " + itoa(MaxPayloadBytes) + " bytes, got " + itoa(uint64(len(rec))))
	}
	root, err := OpenValue(rec)
	if err != nil {
		return nil, DescribeError(err.Error())
	}
	if root.Kind() != Map {
		return nil, DescribeError("want a map, got " + root.Kind().String())
	}
	d := &Description{}
	p := describeParser{root: root, used: map[string]bool{}}
	d.Name, d.Version = p.text("name", true), p.text("version", true)
	d.Minor = int(p.value("minor", Int, true).Int())
	d.Points = p.list("points", true)
	d.Chunked, d.Reads = p.list("chunked", false), p.list("reads", false)
	d.Intents, d.Events = p.list("intents", false), p.list("events", false)
	d.DataSets, d.Aggregates = p.list("data_sets", false), p.list("aggregates", false)
	d.Resources = p.resources()
	d.Normalize = p.text("normalize", false)
	d.Pure = p.value("pure", Bool, false).Bool()
	if v := p.value("schema", Map, false); v.Kind() == Map {
		d.Schema = v.Tree()
	}
	for i := range root.Len() {
		if k := root.Key(i); p.err == nil && !p.used[k] {
			p.err = DescribeError("unknown key \"" + k + "\"")
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return d, d.check()
}

type describeParser struct {
	root Value
	used map[string]bool
	err  error
}

func (p *describeParser) value(key string, want ValueKind, required bool) Value {
	p.used[key] = true
	v, ok := p.root.Get(key)
	switch {
	case p.err != nil:
	case !ok && required:
		p.err = DescribeError("key \"" + key + "\" is missing")
	case ok && v.Kind() != want:
		p.err = DescribeError("key \"" + key + "\": want " + want.String() + ", got " + v.Kind().String())
	case ok:
		return v
	}
	return Value{}
}

func (p *describeParser) text(key string, required bool) string {
	return p.value(key, String, required).Text()
}

func (p *describeParser) list(key string, required bool) []string {
	return p.strings(key, p.value(key, List, required))
}

func (p *describeParser) strings(key string, v Value) []string {
	var out []string
	for i := range v.Len() {
		e := v.At(i)
		if p.err == nil && e.Kind() != String {
			p.err = DescribeError("key \"" + key + "\": want strings, got " + e.Kind().String())
		}
		out = append(out, e.Text())
	}
	return out
}

func (p *describeParser) resources() []Resource {
	v := p.value("resources", List, false)
	var out []Resource
	for i := range v.Len() {
		e := v.At(i)
		if e.Kind() != Map {
			p.fail("resources", "want maps, got "+e.Kind().String())
			return nil
		}
		var r Resource
		for j := range e.Len() {
			x, _ := e.Get(e.Key(j))
			switch key := e.Key(j); {
			case key == "resource" && x.Kind() == String:
				r.Name = x.Text()
			case key == "selector" && x.Kind() == String:
				r.Selector = x.Text()
			case key == "fields" && x.Kind() == List:
				r.Fields = p.strings("resources", x)
			default:
				p.fail("resources", "want resource and selector, strings, and fields, a list, got \""+key+"\" "+x.Kind().String())
			}
		}
		out = append(out, r)
	}
	return out
}

func (p *describeParser) fail(key, text string) {
	if p.err == nil {
		p.err = DescribeError("key \"" + key + "\": " + text)
	}
}

func (d *Description) check() error {
	if d.Name == "" || len(d.Name) > MaxNameBytes {
		return DescribeError("name: want 1 to " + itoa(MaxNameBytes) + " bytes, got " + itoa(uint64(len(d.Name))))
	}
	if d.Minor < 0 || d.Minor > Minor {
		got := itoa(uint64(d.Minor))
		if d.Minor < 0 {
			got = "-" + itoa(-uint64(d.Minor))
		}
		return DescribeError("minor: want 0 to " + itoa(Minor) + ", got " + got)
	}
	if len(d.Points) == 0 {
		return DescribeError("points: want at least one, got none")
	}
	if err := checkNames("points", d.Points, func(s string) bool {
		p, ok := PointByName(s)
		return ok && p != Describe && p != Configure
	}); err != nil {
		return err
	}
	if err := checkNames("reads", d.Reads, func(s string) bool { _, ok := SectionByName(s); return ok }); err != nil {
		return err
	}
	if err := checkNames("chunked", d.Chunked, func(s string) bool {
		return (s == "pre_filter" || s == "pre_score") && contains(d.Points, s)
	}); err != nil {
		return err
	}
	resources := make([]string, len(d.Resources))
	for i, r := range d.Resources {
		resources[i] = r.Name
	}
	for _, l := range []struct {
		key   string
		list  []string
		known func(string) bool
	}{
		{"intents", d.Intents, knownIntent},
		{"events", d.Events, knownEvent},
		{"resources", resources, func(s string) bool { return count(s, '/') == 1 || count(s, '/') == 2 }},
		{"data_sets", d.DataSets, func(s string) bool { return s != "" && len(s) <= MaxNameBytes }},
		{"aggregates", d.Aggregates, func(s string) bool { return s == "namespace" || len(s) > 6 && s[:6] == "label/" }},
	} {
		if err := checkNames(l.key, l.list, l.known); err != nil {
			return err
		}
	}
	if len(d.Events) > 0 && !contains(d.Points, "queueing_hint") {
		return DescribeError("events: they go with the point queueing_hint, and only with it")
	}
	if d.Normalize != "" && !contains(Normalizations, d.Normalize) {
		return DescribeError("normalize: want none, max, reversed or custom, got \"" + d.Normalize + "\"")
	}
	if (d.Normalize == NormalizeCustom) != contains(d.Points, "normalize_score") {
		return DescribeError("normalize: custom goes with the point normalize_score, and only with it")
	}
	return nil
}

func knownIntent(kind string) bool {
	for _, i := range Intents() {
		if i.Kind == kind {
			return true
		}
	}
	return false
}

func knownEvent(name string) bool {
	for _, e := range Events() {
		if e.Name == name {
			return true
		}
	}
	return false
}

func count(s string, c byte) (n int) {
	for i := range len(s) {
		if s[i] == c {
			n++
		}
	}
	return n
}

func checkNames(key string, names []string, known func(string) bool) error {
	for i, s := range names {
		if !known(s) {
			return DescribeError(key + ": \"" + s + "\" is unknown here")
		}
		if contains(names[:i], s) {
			return DescribeError(key + ": \"" + s + "\" is named twice")
		}
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// SectionByName finds a section of node or pod records by its wire name.
func SectionByName(name string) (Section, bool) {
	for _, t := range [][]Section{NodeSections, PodSections} {
		for _, s := range t {
			if s.Name == name {
				return s, true
			}
		}
	}
	return Section{}, false
}

// SectionMasks turns names of sections into a bit set for node records and one
// for pod records, bit i for the section of index i. The meta sections are
// always set. Names must be known.
func SectionMasks(reads []string) (node, pod uint32) {
	node, pod = 1<<NodeMeta, 1<<PodMeta
	for _, name := range reads {
		s, _ := SectionByName(name)
		if len(name) > 5 && name[:5] == "node." {
			node |= 1 << s.Index
		} else {
			pod |= 1 << s.Index
		}
	}
	return node, pod
}
