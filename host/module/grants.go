// SPDX-License-Identifier: Apache-2.0

package module

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/policy"
)

// CheckPolicy says whether policy.yaml gives what a module declares: the grants,
// since nothing is readable and nothing is done by default, and the data sets that
// it reads, and only those.
func CheckPolicy(d *abi.Description, p *policy.Policy) error {
	if err := checkGrants(d, p); err != nil {
		return err
	}
	return checkDataSets(d.DataSets, p.DataSets)
}

func checkGrants(d *abi.Description, p *policy.Policy) error {
	var missing []string
	for _, i := range abi.Intents() {
		if g := (policy.Grant{Intent: i.Kind}); i.Grant && slices.Contains(d.Intents, i.Kind) && !p.Allows(g) {
			missing = append(missing, "{intent: "+i.Kind+"}")
		}
	}
	for _, r := range d.Resources {
		if g := (policy.Grant{Resource: r.Name}); !p.Allows(g) {
			missing = append(missing, "{resource: "+r.Name+"}")
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("policy.yaml: grants: want [%s], which the module asks for", strings.Join(missing, ", "))
	}
	return nil
}

func checkDataSets(want []string, got []policy.DataSet) error {
	names := make([]string, len(got))
	for i := range got {
		names[i] = got[i].Name
	}
	for _, n := range want {
		if !slices.Contains(names, n) {
			return fmt.Errorf("policy.yaml: dataSets: want one named %q, which the module reads, got %q", n, names)
		}
	}
	for _, n := range names {
		if !slices.Contains(want, n) {
			return fmt.Errorf("policy.yaml: dataSets: want those that the module reads, %q, got %q", want, n)
		}
	}
	return nil
}
