// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"testing"

	"github.com/berth-scheduler/berth/host"
)

func TestWazero(t *testing.T) { Run(t, Engine{Name: "wazero", Host: host.New}) }
