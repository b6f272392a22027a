// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/berth-scheduler/berth/host/policy"
)

// pinDigest sets or, with an empty digest, removes the field digest of a
// policy.yaml that parses. All other lines stay as they are, comments included.
func pinDigest(policyYAML []byte, digest string) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(policyYAML, &doc); err != nil {
		return nil, fmt.Errorf("policy.yaml: %w", err)
	}
	root := doc.Content[0]
	if root.Style&yaml.FlowStyle != 0 {
		return nil, errors.New("policy.yaml: --pin wants a field a line, got a policy in braces; write digest: yourself")
	}
	lines := bytes.SplitAfter(policyYAML, []byte("\n"))
	at := len(lines) // index of the line to put the digest at
	drop := 0
	for i := 0; i+1 < len(root.Content); i += 2 {
		key := root.Content[i]
		switch key.Value {
		case "kind":
			if drop == 0 {
				at = root.Content[i+1].Line
			}
		case "digest":
			at, drop = key.Line-1, 1
		}
	}
	var out bytes.Buffer
	for _, line := range lines[:at] {
		out.Write(line)
	}
	if digest != "" {
		if out.Len() > 0 && !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "digest: %s\n", digest)
	}
	for _, line := range lines[min(at+drop, len(lines)):] {
		out.Write(line)
	}
	p, err := policy.Parse(out.Bytes())
	if err != nil || p.Digest != digest {
		return nil, fmt.Errorf("policy.yaml: --pin can't write the digest into it; write digest: %s yourself", digest)
	}
	return out.Bytes(), nil
}
