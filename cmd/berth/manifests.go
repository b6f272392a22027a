// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/host/policy"
	"github.com/berth-scheduler/berth/host/source"
)

// manifests checks a policy.yaml, or the ConfigMaps in a stream of YAML; other
// objects there are passed over.
func (c *checker) manifests(ctx context.Context, arg string, text []byte) error {
	docs, err := splitYAML(text)
	if err != nil {
		return err
	}
	found := false
	for _, doc := range docs {
		var head metav1.TypeMeta
		if err := yaml.Unmarshal(doc, &head); err != nil || head.Kind == policy.Kind || head.Kind == "" && len(docs) == 1 {
			// The reader of policy.yaml says best what is wrong with one.
			return c.policyYAML(ctx, arg, text)
		}
		maps, err := configMaps(head, doc)
		if err != nil {
			return err
		}
		for _, one := range maps {
			found = true
			c.configMap(ctx, arg, one)
		}
	}
	if !found {
		return fmt.Errorf("want a policy.yaml (kind: %s) or a ConfigMap, got neither", policy.Kind)
	}
	return nil
}

// splitYAML splits a stream into the documents that aren't empty.
func splitYAML(text []byte) ([][]byte, error) {
	var docs [][]byte
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		doc, err := reader.Read()
		switch {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return nil, err
		case len(bytes.TrimSpace(doc)) > 0:
			docs = append(docs, doc)
		}
	}
}

// configMaps are the ConfigMaps of a document: itself, or those in a list.
func configMaps(head metav1.TypeMeta, doc []byte) ([][]byte, error) {
	switch {
	case head.APIVersion != "v1":
		return nil, nil
	case head.Kind == "ConfigMap":
		return [][]byte{doc}, nil
	case head.Kind != "List" && head.Kind != "ConfigMapList":
		return nil, nil
	}
	var list struct {
		Items []map[string]any `json:"items"`
	}
	if err := yaml.Unmarshal(doc, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", head.Kind, err)
	}
	var maps [][]byte
	for _, item := range list.Items {
		if kind, ok := item["kind"]; ok && kind != "ConfigMap" {
			continue
		}
		one, err := yaml.Marshal(item)
		if err != nil {
			return nil, err
		}
		maps = append(maps, one)
	}
	return maps, nil
}

func (c *checker) configMap(ctx context.Context, arg string, text []byte) {
	cm := &v1.ConfigMap{}
	if err := yaml.UnmarshalStrict(text, cm); err != nil {
		c.problem(arg, fmt.Errorf("ConfigMap: %w", err))
		return
	}
	where := arg + ": configmap/" + cm.Name
	if _, ok := cm.Labels[source.LabelPolicy]; !ok {
		c.problem(where, fmt.Errorf("label %s: want it, as the scheduler sees no other ConfigMaps, got none", source.LabelPolicy))
	}
	total := 0
	for _, v := range cm.Data {
		total += len(v)
	}
	for _, v := range cm.BinaryData {
		total += len(v)
	}
	if total > maxConfigMap {
		c.problem(where, fmt.Errorf("want at most %d bytes in a ConfigMap, got %d: the API server refuses it", maxConfigMap, total))
	}
	c.document(ctx, where, source.FromConfigMap(cm))
}
