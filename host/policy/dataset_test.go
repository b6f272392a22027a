// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"
)

func TestDataSets(t *testing.T) {
	const rest = "apiVersion: berth.dev/v1alpha1\nkind: Policy\nname: p\ndataSets:\n"
	p, err := Parse([]byte(rest + "- {name: a, nodeMetrics: {}}\n- {name: b, intervalSeconds: 60, prometheus: {url: 'https://prom:9090/x', query: up, label: node, ca: ca.crt, bearerToken: token}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if d := p.DataSets; d[0].IntervalSeconds != DefaultInterval || d[1].IntervalSeconds != 60 || d[0].NodeMetrics == nil || d[1].Prometheus == nil {
		t.Errorf("want the default and what is given, got %+v", d)
	}
	if q, err := Parse(p.Effective()); err != nil || !q.Equal(p) {
		t.Errorf("want the effective policy read back, got %v", err)
	}
	for text, want := range map[string]string{
		"- {name: a}": "dataSets[0]: want either nodeMetrics or prometheus",
		"- {name: a, nodeMetrics: {}, prometheus: {url: 'http://h', query: up}}": "want either",
		"- {nodeMetrics: {}}": "dataSets[0].name: want a name",
		"- {name: a, nodeMetrics: {}}\n- {name: a, nodeMetrics: {}}":                "dataSets[1].name: duplicate",
		"- {name: a, nodeMetrics: {}, intervalSeconds: 4}":                          "want 5 to 3600, got 4",
		"- {name: a, nodeMetrics: {}, intervalSeconds: 0}":                          "want 5 to 3600, got 0",
		"- {name: a, nodeMetrics: {x: 1}}":                                          "unknown field",
		"- {name: a, prometheus: {url: 'file:///etc/passwd', query: up}}":           "url: want http",
		"- {name: a, prometheus: {url: 'http://u:p@h', query: up}}":                 "url: want http",
		"- {name: a, prometheus: {url: 'http://h?x=y', query: up}}":                 "url: want http",
		"- {name: a, prometheus: {url: 'http://h'}}":                                "query: want 1 to",
		"- {name: a, prometheus: {url: 'http://h', query: up, label: 'a-b'}}":       "label: want the name",
		"- {name: a, prometheus: {url: 'https://h', query: up, ca: ../x}}":          "ca: want the name of a file",
		"- {name: a, prometheus: {url: 'http://h', query: up, bearerToken: token}}": "want an https URL with a token",
		strings.Repeat("- {name: a, nodeMetrics: {}}\n", MaxDataSets+1):             "want at most 16, got 17",
	} {
		if _, err := Parse([]byte(rest + text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %q, got %v", text, want, err)
		}
	}
}
