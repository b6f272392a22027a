// SPDX-License-Identifier: Apache-2.0

package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	fwk "k8s.io/kube-scheduler/framework"
)

// The framework's success is nil.
func TestStatusTree(t *testing.T) {
	for want, s := range map[int]*fwk.Status{
		0: nil, 2: fwk.NewStatus(fwk.Unschedulable, "full", "not UTF-8: \xff"),
	} {
		reasons := []string{}
		if s != nil {
			reasons = []string{"full", "not UTF-8: ?"}
		}
		if diff := cmp.Diff(map[string]any{"code": want, "reasons": reasons}, statusTree(s)); diff != "" {
			t.Errorf("%v: want (-), got (+):\n%s", s, diff)
		}
	}
}
