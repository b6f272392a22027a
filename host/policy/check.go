// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
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
