// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMatches(t *testing.T) {
	pod := func(namespace string, labels map[string]string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: labels}}
	}
	web := map[string]string{"app": "web"}
	for _, test := range []struct {
		name, match, profile string
		pod                  *v1.Pod
		want                 bool
	}{
		{"all", "", "any", pod("a", nil), true},
		{"profile", "{profiles: [berth]}", "berth", pod("a", nil), true},
		{"other profile", "{profiles: [berth]}", "default", pod("a", nil), false},
		{"namespace", "{namespaces: [a, b]}", "berth", pod("b", nil), true},
		{"other namespace", "{namespaces: [a, b]}", "berth", pod("c", nil), false},
		{"label", "{podSelector: {matchLabels: {app: web}}}", "berth", pod("a", web), true},
		{"other label", "{podSelector: {matchLabels: {app: db}}}", "berth", pod("a", web), false},
		{"no label", "{podSelector: {matchLabels: {app: db}}}", "berth", pod("a", nil), false},
		{"empty selector", "{podSelector: {}}", "berth", pod("a", nil), true},
		{"expression", "{podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [db]}]}}", "berth", pod("a", nil), true},
		{"all of them", "{profiles: [berth], namespaces: [a], podSelector: {matchLabels: {app: web}}}", "berth", pod("a", web), true},
		{"all but one", "{profiles: [berth], namespaces: [a], podSelector: {matchLabels: {app: web}}}", "berth", pod("b", web), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := head
			if test.match != "" {
				text += "match: " + test.match + "\n"
			}
			p, err := Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Matches(test.profile, test.pod); got != test.want {
				t.Errorf("want %t, got %t", test.want, got)
			}
			if n := testing.AllocsPerRun(100, func() { p.Matches(test.profile, test.pod) }); n != 0 {
				t.Errorf("want no allocations, got %v", n)
			}
			if p.Matches(test.profile, test.pod) && !p.MatchesProfile(test.profile) {
				t.Error("MatchesProfile must hold where Matches does")
			}
		})
	}
}
