// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
)

func TestVersion(t *testing.T) {
	abiVersion := fmt.Sprintf("%d.%d", abi.Major, abi.Minor)
	r := berth(t, "", "version").want(t, exitOK)
	if !strings.HasPrefix(r.out, "berth ") || !strings.Contains(r.out, ", ABI "+abiVersion+", go") {
		t.Errorf("got %q", r.out)
	}
	r = berth(t, "", "version", "-o", "json").want(t, exitOK)
	var v map[string]any
	if err := json.Unmarshal([]byte(r.out), &v); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"version", "abi", "go", "platform"} {
		if s, _ := v[key].(string); s == "" {
			t.Errorf("%s: want a value, got %v", key, v)
		}
	}
}
