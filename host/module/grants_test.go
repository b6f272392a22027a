// SPDX-License-Identifier: Apache-2.0

package module

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/policy"
)

// What a module declares is in policy.yaml, or the error says what to add.
func TestCheckPolicy(t *testing.T) {
	load := policy.DataSet{Name: "load"}
	evict := policy.Grant{Intent: "evict"}
	read := policy.Grant{Resource: "v1/namespaces"}
	for _, test := range []struct {
		name string
		d    abi.Description
		p    policy.Policy
		err  string
	}{
		{"nothing", abi.Description{}, policy.Policy{}, ""},
		{"more than it wants", abi.Description{}, policy.Policy{Grants: []policy.Grant{evict, read}}, ""},
		{"intents that need no grant", abi.Description{Intents: []string{"state", "metric", "allow", "reject"}}, policy.Policy{}, ""},
		{"all granted", abi.Description{Intents: []string{"evict"}, Resources: []abi.Resource{{Name: "v1/namespaces"}}}, policy.Policy{Grants: []policy.Grant{read, evict}}, ""},
		{
			"none granted", abi.Description{Intents: []string{"evict", "state"}, Resources: []abi.Resource{{Name: "v1/namespaces"}}}, policy.Policy{},
			"policy.yaml: grants: want [{intent: evict}, {resource: v1/namespaces}], which the module asks for",
		},
		{"data set", abi.Description{DataSets: []string{"load"}}, policy.Policy{DataSets: []policy.DataSet{load}}, ""},
		{"no data set", abi.Description{DataSets: []string{"load"}}, policy.Policy{}, `want one named "load"`},
		{"another data set", abi.Description{}, policy.Policy{DataSets: []policy.DataSet{load}}, "want those that the module reads"},
	} {
		err := CheckPolicy(&test.d, &test.p)
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: want %q, got %v", test.name, test.err, err)
		}
	}
}
