// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-scheduler/berth/abi"
)

var (
	digestForm   = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	resourceForm = regexp.MustCompile(`^([a-z0-9.-]+/)?[a-z0-9]+/[a-z0-9]+$`)
	labelForm    = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	moduleForm   = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)
)

// check reports what is wrong with a decoded policy and compiles its selector.
func (p *Policy) check(d *decoder) {
	if p.APIVersion != APIVersion {
		d.failField("apiVersion", "want %s, got %s", APIVersion, quoted(p.APIVersion))
	}
	if p.Kind != Kind {
		d.failField("kind", "want %s, got %s", Kind, quoted(p.Kind))
	}
	if _, given := d.lines["name"]; given || p.Name != "" {
		if msgs := validation.IsDNS1123Subdomain(p.Name); len(msgs) > 0 {
			d.failField("name", "want a DNS subdomain (lower case letters, digits, '-' and '.'), got %s", quoted(p.Name))
		}
	}
	if _, given := d.lines["module"]; given && (!moduleForm.MatchString(p.Module) || strings.HasPrefix(p.Module, "..")) {
		d.failField("module", "want a key of the ConfigMap or a file beside policy.yaml, got %s", quoted(p.Module))
	}
	if _, given := d.lines["digest"]; given && !digestForm.MatchString(p.Digest) {
		d.failField("digest", "want sha256: and 64 lower case hex digits, got %s", quoted(p.Digest))
	}
	switch p.Mode {
	case Enforce:
	case Shadow:
		d.failField("mode", "Shadow is not served by this version, want Enforce")
	default:
		d.failField("mode", "want Enforce, got %s", quoted(string(p.Mode)))
	}
	inRange(d, "weight", p.Weight, 0, MaxWeight)
	inRange(d, "order", p.Order, -1_000_000, 1_000_000)
	p.checkFailurePolicies(d)
	p.checkMatch(d)
	p.checkLimits(d)
	p.checkGrants(d)
	p.checkDataSets(d)
}

func inRange(d *decoder, field string, got, low, high int64) {
	if got < low || got > high {
		d.failField(field, "want %d to %d, got %d", low, high, got)
	}
}

func (p *Policy) checkFailurePolicies(d *decoder) {
	valid := func(field string, f FailurePolicy) {
		if f != Fail && f != Ignore {
			d.failField(field, "want Fail or Ignore, got %s", quoted(string(f)))
		}
	}
	valid("failurePolicy", p.FailurePolicy)
	for _, name := range slices.Sorted(maps.Keys(p.FailurePolicies)) {
		field := join("failurePolicies", name)
		valid(field, p.FailurePolicies[name])
		point, known := abi.PointByName(name)
		switch {
		case name == Load, known && slices.Contains(FailurePoints, point):
		case known:
			d.failField(field, "point %s is not served by this version", name)
		default:
			served := []string{Load}
			for _, point := range FailurePoints {
				served = append(served, point.String())
			}
			d.fail(d.lineOf(field), "failurePolicies", "unknown point %s, want one of %s", quoted(name), strings.Join(served, ", "))
		}
	}
}

func (p *Policy) checkMatch(d *decoder) {
	names := func(field string, list []string, valid func(string) []string, want string) {
		if list != nil && len(list) == 0 {
			d.failField(field, "an empty list matches nothing; leave it out to match all")
		}
		seen := make(map[string]struct{}, len(list))
		for i, name := range list {
			_, again := seen[name]
			seen[name] = struct{}{}
			item := fmt.Sprintf("%s[%d]", field, i)
			switch {
			case len(valid(name)) > 0:
				d.failField(item, "want %s, got %s", want, quoted(name))
			case again:
				d.failField(item, "duplicate %s", quoted(name))
			}
		}
	}
	nonEmpty := func(name string) []string {
		if name == "" {
			return []string{"empty"}
		}
		return nil
	}
	names("match.profiles", p.Match.Profiles, nonEmpty, "the name of a profile")
	names("match.namespaces", p.Match.Namespaces, validation.IsDNS1123Label, "the name of a namespace")
	if p.Match.PodSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(p.Match.PodSelector)
		if err != nil {
			d.failField("match.podSelector", "%s", strings.ReplaceAll(err.Error(), "\n", " "))
			return
		}
		if !selector.Empty() {
			p.selector = selector
		}
	}
}

const pageBytes = 64 << 10

func (p *Policy) checkLimits(d *decoder) {
	l := p.Limits
	switch {
	case l.Memory < MinMemory || l.Memory > MaxMemory:
		d.failField("limits.memory", "want %s to %s, got %s", MinMemory, MaxMemory, l.Memory)
	case l.Memory%pageBytes != 0:
		d.failField("limits.memory", "want a multiple of %s, got %s", Bytes(pageBytes), l.Memory)
	}
	inRange(d, "limits.fuel.base", l.Fuel.Base, 1, MaxFuelBase)
	inRange(d, "limits.fuel.perNode", l.Fuel.PerNode, 0, MaxFuelPerNode)
	if l.Log < 0 || l.Log > MaxLog {
		d.failField("limits.log", "want 0 to %s, got %s", MaxLog, l.Log)
	}
}

func (p *Policy) checkGrants(d *decoder) {
	var granted []string
	for _, i := range abi.Intents() {
		if i.Grant {
			granted = append(granted, i.Kind)
		}
	}
	seen := map[Grant]bool{}
	for i, g := range p.Grants {
		field := fmt.Sprintf("grants[%d]", i)
		switch {
		case (g.Intent == "") == (g.Resource == ""):
			d.failField(field, "want either intent or resource")
		case g.Intent != "" && !slices.Contains(granted, g.Intent):
			d.failField(field, "intent: want one of %s, got %s", strings.Join(granted, ", "), quoted(g.Intent))
		case g.Resource != "" && !resourceForm.MatchString(g.Resource):
			d.failField(field, "resource: want group/version/resource, or version/resource of the core group, got %s", quoted(g.Resource))
		case seen[g]:
			d.failField(field, "is given twice")
		}
		seen[g] = true
	}
}

// Allows reports whether a grant is given.
func (p *Policy) Allows(g Grant) bool { return slices.Contains(p.Grants, g) }

// checkDataSets checks the data sets and fills in their defaults.
func (p *Policy) checkDataSets(d *decoder) {
	if len(p.DataSets) > MaxDataSets {
		d.failField("dataSets", "want at most %d, got %d", MaxDataSets, len(p.DataSets))
	}
	seen := map[string]bool{}
	for i := range p.DataSets {
		s, field := &p.DataSets[i], fmt.Sprintf("dataSets[%d]", i)
		if _, given := d.lines[field+".intervalSeconds"]; !given {
			s.IntervalSeconds = DefaultInterval
		}
		inRange(d, field+".intervalSeconds", s.IntervalSeconds, MinInterval, MaxInterval)
		switch {
		case s.Name == "" || len(s.Name) > abi.MaxNameBytes:
			d.failField(field+".name", "want a name of at most %d bytes, got %s", abi.MaxNameBytes, quoted(s.Name))
		case seen[s.Name]:
			d.failField(field+".name", "duplicate %s", quoted(s.Name))
		}
		seen[s.Name] = true
		if (s.NodeMetrics == nil) == (s.Prometheus == nil) {
			d.failField(field, "want either nodeMetrics or prometheus")
		}
		if s.Prometheus != nil {
			s.Prometheus.check(d, field+".prometheus")
		}
	}
}

func (p *Prometheus) check(d *decoder, field string) {
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		d.failField(field+".url", "want http:// or https://, a host and maybe a path, got %s", quoted(p.URL))
	}
	if p.Query == "" || len(p.Query) > MaxQuery {
		d.failField(field+".query", "want 1 to %d bytes, got %d", MaxQuery, len(p.Query))
	}
	if p.Label != "" && !labelForm.MatchString(p.Label) {
		d.failField(field+".label", "want the name of a label in Prometheus, got %s", quoted(p.Label))
	}
	for name, file := range map[string]string{"bearerToken": p.BearerToken, "ca": p.CA} {
		if file != "" && (!moduleForm.MatchString(file) || strings.HasPrefix(file, "..") || file == ".") {
			d.failField(field+"."+name, "want the name of a file in credentialsDir, got %s", quoted(file))
		}
	}
	if p.BearerToken != "" && strings.HasPrefix(p.URL, "http:") {
		d.failField(field+".bearerToken", "want an https URL with a token, got %s", quoted(p.URL))
	}
}
