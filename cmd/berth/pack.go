// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	machineryvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-scheduler/berth/host/module"
	"github.com/berth-scheduler/berth/host/source"
	"github.com/berth-scheduler/berth/host/weave"
)

// maxConfigMap is what the API server allows the values of a ConfigMap together,
// uncoded.
const maxConfigMap = v1.MaxSecretSize

type packOptions struct {
	name, namespace, output string
	pin                     bool
}

func newPack(io streams) *cobra.Command {
	var opts packOptions
	cmd := &cobra.Command{
		Use:   "pack DIR | POLICY.YAML MODULE",
		Short: "Make the ConfigMap of a policy",
		Long: `Make the ConfigMap of a policy, as YAML: policy.yaml and the module, gzipped
unless policy.yaml names a file that isn't, under the label by which the
scheduler finds it. The same input gives the same bytes.

DIR holds policy.yaml and policy.wasm (or what policy.yaml calls it).

The ConfigMap's name is what --name says, else the name in policy.yaml, else that
of DIR or of MODULE's file. Where the file is just policy.wasm or standard input,
it is the name that the module gives itself.

Apply it with kubectl apply --server-side. A plain kubectl apply also stores the
whole object in an annotation, and annotations may hold 256 KiB, so it is
refused for all but the smallest modules; kubectl create and kubectl replace
work. If the ConfigMap was made by one of these, the first server-side apply
wants --force-conflicts.

The API server allows 1 MiB in a ConfigMap. berth pack says so beforehand.`,
		Example: `  berth pack policy.yaml team-pools.wasm | kubectl apply --server-side -n berth-system -f -
  berth pack --pin -n berth-system -o team-pools.configmap.yaml ./deploy/team-pools`,
		Args: argCount(1, 2, "DIR, or POLICY.YAML and MODULE"),
		RunE: func(_ *cobra.Command, args []string) error {
			text, hint, err := pack(args, opts, io)
			if err != nil {
				return err
			}
			if err := writeFile(opts.output, text, io.out); err != nil || opts.output == "-" {
				return err // what is piped is being applied already
			}
			_, err = fmt.Fprintln(io.err, hint)
			return err
		},
	}
	cmd.Flags().StringVarP(&opts.output, "output", "o", "-", "file to write, - for standard output")
	cmd.Flags().StringVar(&opts.name, "name", "", "name of the ConfigMap (default: see above)")
	cmd.Flags().StringVarP(&opts.namespace, "namespace", "n", "", "namespace of the ConfigMap; the scheduler looks in its own (default: none, so kubectl decides)")
	cmd.Flags().BoolVar(&opts.pin, "pin", false, "write the module's digest into policy.yaml, so that no other module is taken with it")
	return cmd
}

// manifest is a ConfigMap in the order in which people read one.
type manifest struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Metadata   manifestMeta      `yaml:"metadata"`
	Data       map[string]string `yaml:"data"`
	BinaryData map[string]string `yaml:"binaryData"`
}

type manifestMeta struct {
	Name      string            `yaml:"name"`
	Namespace string            `yaml:"namespace,omitempty"`
	Labels    map[string]string `yaml:"labels"`
}

// pack makes the YAML of a ConfigMap, and a line that says how to apply it.
func pack(args []string, opts packOptions, io streams) (text []byte, hint string, err error) {
	f, name, err := packInput(args, io)
	if err != nil {
		return nil, "", err
	}
	doc := source.Assemble(name, f)
	if doc.Policy != nil && doc.Module == nil && doc.Policy.Digest != "" && opts.pin {
		// The old pin is what --pin replaces.
		if f[source.PolicyFile], err = pinDigest(doc.PolicyYAML, ""); err != nil {
			return nil, "", err
		}
		doc = source.Assemble(name, f)
	}
	if doc.Err != nil {
		return nil, "", doc.Err
	}
	info, err := module.Inspect(doc.Module, weave.DefaultLimits())
	if err != nil {
		return nil, "", err
	}
	if len(info.Problems) > 0 {
		return nil, "", info.Problems
	}
	if opts.pin {
		if doc.PolicyYAML, err = pinDigest(doc.PolicyYAML, doc.ModuleDigest); err != nil {
			return nil, "", err
		}
	}
	key, stored := source.ModuleFileGz, []byte(nil)
	if doc.Policy.Module != "" {
		key = doc.Policy.Module
	}
	if stored = doc.Module; strings.HasSuffix(key, ".gz") {
		stored = source.Gzip(doc.Module)
	}
	m := manifest{
		APIVersion: "v1", Kind: "ConfigMap",
		Metadata:   manifestMeta{Name: doc.Name, Namespace: opts.namespace, Labels: map[string]string{source.LabelPolicy: "true"}},
		Data:       map[string]string{source.PolicyFile: string(doc.PolicyYAML)},
		BinaryData: map[string]string{key: base64.StdEncoding.EncodeToString(stored)},
	}
	switch {
	case opts.name != "":
		m.Metadata.Name = opts.name
	case doc.Policy.Name == "" && name == "" && info.Description != nil:
		m.Metadata.Name = info.Description.Name
	}
	if err := m.check(key, len(doc.PolicyYAML), len(stored), len(doc.Module)); err != nil {
		return nil, "", err
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(m); err != nil {
		return nil, "", err
	}
	return b.Bytes(), m.hint(b.Len(), opts.output), nil
}

// packInput reads what the arguments name. The name is that of the folder or of
// the module's file, "" if the file's says nothing.
func packInput(args []string, io streams) (files, string, error) {
	if len(args) == 1 {
		info, err := os.Stat(args[0])
		if err != nil {
			return nil, "", err
		}
		if !info.IsDir() {
			return nil, "", usageError{fmt.Errorf("want DIR, or POLICY.YAML and MODULE, got the file %s alone", args[0])}
		}
		f, err := readFolder(args[0])
		return f, folderName(args[0]), err
	}
	policyPath, modulePath := args[0], args[1]
	if isModuleName(policyPath) {
		policyPath, modulePath = modulePath, policyPath
	}
	policyYAML, err := readInput(policyPath, io.in, source.MaxModuleBytes)
	if err != nil {
		return nil, "", err
	}
	wasm, err := readModule(modulePath, io.in)
	if err != nil {
		return nil, "", err
	}
	name := filepath.Base(modulePath)
	if name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".wasm"); modulePath == "-" || name == "policy" {
		name = ""
	}
	return withModule(policyYAML, wasm), name, nil
}

// check says beforehand what the API server would say.
func (m manifest) check(key string, policyBytes, moduleBytes, rawBytes int) error {
	if msgs := validation.NameIsDNSSubdomain(m.Metadata.Name, false); len(msgs) > 0 {
		return fmt.Errorf("name: want a DNS subdomain (lower case letters, digits, '-' and '.'), got %q", m.Metadata.Name)
	}
	if m.Metadata.Namespace != "" && len(machineryvalidation.IsDNS1123Label(m.Metadata.Namespace)) > 0 {
		return fmt.Errorf("namespace: want the name of a namespace, got %q", m.Metadata.Namespace)
	}
	total := policyBytes + moduleBytes
	if total <= maxConfigMap {
		return nil
	}
	todo := "make the module smaller (no fmt, encoding/json or reflect), or put it into a directory of policies"
	if moduleBytes == rawBytes {
		todo = fmt.Sprintf("leave module: out of policy.yaml or call it %s, so that it is gzipped", source.ModuleFileGz)
	}
	return fmt.Errorf("want at most %d bytes in a ConfigMap, got %d (%s %d, %s %d): %s",
		maxConfigMap, total, key, moduleBytes, source.PolicyFile, policyBytes, todo)
}

// hint says how to apply the manifest of so many bytes in a file.
func (m manifest) hint(size int, file string) string {
	object := "configmap/" + m.Metadata.Name
	if size+len(object) < validation.TotalAnnotationSizeLimitB {
		return object + ": apply it with kubectl apply -f " + file
	}
	return object + ": apply it with kubectl apply --server-side -f " + file + " (a plain apply keeps a copy in an annotation, which holds 256 KiB)"
}
