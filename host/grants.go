// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/policy"
)

// checkGrants says whether policy.yaml allows what a module declares: nothing is
// readable and nothing is done by default.
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
