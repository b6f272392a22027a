// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/berth-scheduler/berth/cmd/berth-lab/install"
)

//go:embed team-pools-1.yaml team-pools-2.yaml cost-aware.yaml
var policyFiles embed.FS

// policyFile says which module and which policy.yaml make one version of a
// policy. The YAML is a template whose only value is the module's digest.
type policyFile struct {
	name   string
	module string
	config string
}

var (
	teamPoolsOne = policyFile{name: "team-pools", module: "team-pools.wasm", config: "team-pools-1.yaml"}
	teamPoolsTwo = policyFile{name: "team-pools", module: "team-pools-v2.wasm", config: "team-pools-2.yaml"}
	costAware    = policyFile{name: "cost-aware", module: "cost-aware.wasm", config: "cost-aware.yaml"}
)

const statusName = "berth-status"

// policyStatus is what the demo reads of a document in the status ConfigMap.
type policyStatus struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Digest  string `json:"digest"`
	Message string `json:"message"`
}

// policy is one version of a policy, ready to be applied.
type policy struct {
	name      string
	digest    string
	configMap *corev1.ConfigMap
}

// load reads the module from dir and makes the ConfigMap.
func (f policyFile) load(dir string) (policy, error) {
	wasm, err := os.ReadFile(filepath.Join(dir, f.module))
	if err != nil {
		return policy{}, fmt.Errorf("policy %q: %w: run \"make policies\"", f.name, err)
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(wasm))
	config, err := f.render(digest)
	if err != nil {
		return policy{}, err
	}
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return policy{}, err
	}
	if _, err := zip.Write(wasm); err != nil {
		return policy{}, err
	}
	if err := zip.Close(); err != nil {
		return policy{}, err
	}
	return policy{name: f.name, digest: digest, configMap: &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: install.Namespace,
			Name:      f.name,
			Labels:    map[string]string{"berth.dev/policy": ""},
		},
		Data:       map[string]string{"policy.yaml": config},
		BinaryData: map[string][]byte{"policy.wasm.gz": packed.Bytes()},
	}}, nil
}

func (f policyFile) render(digest string) (string, error) {
	t, err := template.ParseFS(policyFiles, f.config)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = t.Execute(&out, struct{ Digest string }{digest})
	return out.String(), err
}

// apply creates the policy's ConfigMap, or replaces it as a whole.
func (d *demo) apply(ctx context.Context, p policy) error {
	configMaps := d.cluster.Client.CoreV1().ConfigMaps(install.Namespace)
	_, err := configMaps.Create(ctx, p.configMap, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = configMaps.Update(ctx, p.configMap, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("apply policy %q: %w", p.name, err)
	}
	return nil
}

// waitActive waits until the status says that this version of the policy is in
// force, or that it failed.
func (d *demo) waitActive(ctx context.Context, p policy) (PolicyResult, error) {
	last := errors.New("no status yet")
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		status, err := d.status(ctx, p.name)
		if err != nil {
			last = err
			return false, nil
		}
		last = fmt.Errorf("state %s, digest %s: %s", status.State, status.Digest, status.Message)
		if status.State == "Failed" {
			return false, last
		}
		return status.State == "Active" && status.Digest == p.digest, nil
	})
	if wait.Interrupted(err) {
		err = fmt.Errorf("%w: %w", err, last)
	}
	if err != nil {
		return PolicyResult{}, fmt.Errorf("wait for policy %q with digest %s: %w", p.name, p.digest, err)
	}
	return PolicyResult{Name: p.name, Digest: p.digest}, nil
}

func (d *demo) status(ctx context.Context, name string) (policyStatus, error) {
	cm, err := d.cluster.Client.CoreV1().ConfigMaps(install.StateNamespace).Get(ctx, statusName, metav1.GetOptions{})
	if err != nil {
		return policyStatus{}, err
	}
	document, ok := cm.Data[name]
	if !ok {
		return policyStatus{}, fmt.Errorf("policy %q isn't in ConfigMap %s", name, statusName)
	}
	var status policyStatus
	if err := json.Unmarshal([]byte(document), &status); err != nil {
		return policyStatus{}, fmt.Errorf("status of policy %q: %w", name, err)
	}
	return status, nil
}
