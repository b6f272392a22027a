// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/berth-scheduler/berth/abi"
)

// MaxBytes bounds a policy.yaml.
const MaxBytes = 256 << 10

// Parse reads a policy.yaml, fills in defaults and checks it. The error is one
// line; errors.As gives all [Problems] with their lines.
func Parse(data []byte) (*Policy, error) { return ParseNamed(data, "") }

// ParseNamed is Parse for a policy.yaml whose place (a ConfigMap, a directory)
// has a name, which the policy takes unless it gives itself one.
func ParseNamed(data []byte, name string) (*Policy, error) {
	root, err := document(data)
	if err != nil {
		return nil, fmt.Errorf("policy.yaml: %w", err)
	}
	p := &Policy{
		Name:          name,
		Mode:          Enforce,
		Weight:        DefaultWeight,
		Order:         DefaultOrder,
		FailurePolicy: Fail,
		Limits: Limits{
			Memory: DefaultMemory,
			Fuel:   Fuel{Base: DefaultFuelBase, PerNode: DefaultFuelPerNode},
			Log:    DefaultLog,
		},
	}
	d := &decoder{lines: map[string]int{}}
	d.decode(root, "", reflect.ValueOf(p).Elem())
	if root.Kind == yaml.MappingNode {
		p.check(d)
	}
	if len(d.problems) > 0 {
		return nil, fmt.Errorf("policy.yaml: %w", d.problems.sorted())
	}
	if err := p.seal(); err != nil {
		return nil, fmt.Errorf("policy.yaml: %w", err)
	}
	return p, nil
}

// clean drops what says nothing, so that equal policies have equal bytes.
func (p *Policy) clean() {
	if len(p.FailurePolicies) == 0 {
		p.FailurePolicies = nil
	}
	if len(p.Config) == 0 {
		p.Config = nil
	}
	if len(p.Grants) == 0 {
		p.Grants = nil
	}
	if len(p.DataSets) == 0 {
		p.DataSets = nil
	}
	if p.selector == nil {
		p.Match.PodSelector = nil
	}
}

// document parses the one YAML document of data.
func document(data []byte) (root *yaml.Node, err error) {
	switch {
	case len(data) > MaxBytes:
		return nil, Problems{{Message: fmt.Sprintf("want at most %d bytes, got %d", MaxBytes, len(data))}}
	case !utf8.Valid(data):
		return nil, Problems{{Message: "want UTF-8 text"}}
	}
	// The parser has panicked on hostile input before (CVE-2022-28948); here it
	// would take the scheduler with it.
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, Problems{{Message: "not YAML"}}
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF), err == nil && len(first.Content) == 0:
		return nil, Problems{{Message: fmt.Sprintf("empty, want apiVersion: %s and kind: %s", APIVersion, Kind)}}
	case err != nil:
		return nil, Problems{syntaxProblem(err)}
	}
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, Problems{syntaxProblem(err)}
	default:
		return nil, Problems{{Line: second.Line, Message: "want one document, got more"}}
	}
	return first.Content[0], nil
}

var syntaxLine = regexp.MustCompile(`^line (\d+): `)

// syntaxProblem takes the parser's message apart.
func syntaxProblem(err error) Problem {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	message, _, _ = strings.Cut(message, "\n")
	p := Problem{Message: "not YAML: " + message}
	if m := syntaxLine.FindStringSubmatch(message); m != nil {
		p.Line, _ = strconv.Atoi(m[1])
		p.Message = "not YAML: " + message[len(m[0]):]
	}
	return p
}

// seal computes what a valid policy is asked for later.
func (p *Policy) seal() error {
	p.clean()
	set := func(list []string) map[string]struct{} {
		if list == nil {
			return nil
		}
		m := make(map[string]struct{}, len(list))
		for _, s := range list {
			m[s] = struct{}{}
		}
		return m
	}
	p.profiles, p.namespaces = set(p.Match.Profiles), set(p.Match.Namespaces)

	at := func(name string) FailurePolicy {
		if f, ok := p.FailurePolicies[name]; ok {
			return f
		}
		return p.FailurePolicy
	}
	p.onLoad = at(Load)
	p.onFailure = make([]FailurePolicy, len(abi.Points))
	for i := range p.onFailure {
		p.onFailure[i] = at(abi.Points[i].Name)
	}

	written := *p
	if p.Config != nil {
		written.Config = exact(p.Config).(map[string]any)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(&written); err != nil {
		return err
	}
	p.effective = yamlSafe(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
	sum := sha256.Sum256(p.effective)
	p.hash = "sha256:" + hex.EncodeToString(sum[:])
	return nil
}
