// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-scheduler/berth/host/policy"
	"github.com/berth-scheduler/berth/host/source"
)

// Labels and annotations of what the store writes.
const (
	labelManagedBy = "app.kubernetes.io/managed-by"
	managedBy      = "berth-scheduler"
	labelState     = "berth.dev/state"
	stateLastGood  = "last-good"
	stateStatus    = "status"
	labelOwner     = "berth.dev/owner-hash"

	annotationOwner        = "berth.dev/owner"
	annotationSource       = "berth.dev/source"
	annotationSourceUID    = "berth.dev/source-uid"
	annotationName         = "berth.dev/name"
	annotationModule       = "berth.dev/module-digest"
	annotationPolicy       = "berth.dev/policy-digest"
	annotationSaved        = "berth.dev/saved"
	annotationQuarantine   = "berth.dev/quarantine"
	maxConfigMapBytes      = 1 << 20 // the API server's limit on data and binaryData together
	maxQuarantineJSONBytes = 16 << 10
)

// ErrTooBig says that a copy doesn't fit a ConfigMap. The policy works; only a
// restart finds no last good version of it.
var ErrTooBig = errors.New("too big for a ConfigMap")

// Copy is the last good version of a policy.
type Copy struct {
	// Key and UID are those of the policy's source.Document. A copy stands only
	// while they name a source that exists.
	Key string
	UID types.UID
	// Name is the policy's name.
	Name string
	// PolicyYAML and Module (uncompressed) are the policy's bytes. Save keeps
	// them until they are written.
	PolicyYAML []byte
	Module     []byte
	// ModuleDigest is source.Digest(Module).
	ModuleDigest string

	// Policy is PolicyYAML parsed. Load sets it, Save doesn't look at it.
	Policy *policy.Policy
	// Saved is when the copy was written. Load sets it.
	Saved time.Time
	// Quarantine is why this very version is kept from running, or nil. Load
	// sets it; it is changed by SetQuarantine.
	Quarantine *Quarantine
}

// Stands reports whether the source of the copy is still there. Live are the
// sources' UIDs by key.
func (c *Copy) Stands(live map[string]types.UID) bool {
	uid, ok := live[c.Key]
	return ok && uid == c.UID
}

// Quarantine says that a version of a policy has failed too often.
type Quarantine struct {
	// ModuleDigest and PolicyHash name the version; another one isn't concerned.
	ModuleDigest string `json:"moduleDigest"`
	PolicyHash   string `json:"policyHash"`
	// Times is how often in a row it was put in quarantine.
	Times int `json:"times"`
	// Until is when it is tried again.
	Until time.Time `json:"until"`
	// Reason is the fault that led to it.
	Reason string `json:"reason"`
}

// shortHash is enough of a hash to tell names apart.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// copyName is the name of the ConfigMap that holds the copy of key. There is one
// for a key, overwritten in one step: with one for each version a crash between
// writing one and deleting another would leave the choice to clocks.
func copyName(owner, key string) string {
	name := stateLastGood + "-"
	if base := key[strings.LastIndexByte(key, '/')+1:]; len(base) <= 200 && len(validation.IsDNS1123Subdomain(base)) == 0 {
		name += base + "-"
	}
	return name + shortHash(owner+"\n"+key)
}

func copySelector(owner string) string {
	return labelState + "=" + stateLastGood + "," + labelOwner + "=" + shortHash(owner)
}

// encode makes the ConfigMap of a copy.
func (c *Copy) encode(namespace, owner string, now time.Time) (*v1.ConfigMap, error) {
	gz := source.Gzip(c.Module)
	if size := len(gz) + len(c.PolicyYAML); size > maxConfigMapBytes {
		return nil, fmt.Errorf("last good copy: want at most %d bytes (module compressed, and policy.yaml), got %d: %w", maxConfigMapBytes, size, ErrTooBig)
	}
	return &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      copyName(owner, c.Key),
			Labels:    map[string]string{labelManagedBy: managedBy, labelState: stateLastGood, labelOwner: shortHash(owner)},
			Annotations: map[string]string{
				annotationOwner:     owner,
				annotationSource:    c.Key,
				annotationSourceUID: string(c.UID),
				annotationName:      c.Name,
				annotationModule:    c.ModuleDigest,
				annotationPolicy:    source.Digest(c.PolicyYAML),
				annotationSaved:     now.UTC().Format(time.RFC3339),
			},
		},
		Data:       map[string]string{source.PolicyFile: string(c.PolicyYAML)},
		BinaryData: map[string][]byte{source.ModuleFileGz: gz},
	}, nil
}

// decode reads the ConfigMap of a copy and checks that its bytes are those that
// were saved: anyone who may write in the namespace could have changed them.
func decode(cm *v1.ConfigMap) (*Copy, error) {
	a := cm.Annotations
	c := &Copy{
		Key:          a[annotationSource],
		UID:          types.UID(a[annotationSourceUID]),
		Name:         a[annotationName],
		PolicyYAML:   []byte(cm.Data[source.PolicyFile]),
		ModuleDigest: a[annotationModule],
	}
	if c.Key == "" {
		return nil, fmt.Errorf("no annotation %s", annotationSource)
	}
	if got := source.Digest(c.PolicyYAML); got != a[annotationPolicy] {
		return nil, fmt.Errorf("%s: want digest %s, got %s", source.PolicyFile, a[annotationPolicy], got)
	}
	var err error
	if c.Module, err = source.Gunzip(cm.BinaryData[source.ModuleFileGz], source.MaxModuleBytes); err != nil {
		return nil, fmt.Errorf("%s: %w", source.ModuleFileGz, err)
	}
	if got := source.Digest(c.Module); got != c.ModuleDigest {
		return nil, fmt.Errorf("%s: want digest %s, got %s", source.ModuleFileGz, c.ModuleDigest, got)
	}
	if c.Policy, err = policy.ParseNamed(c.PolicyYAML, c.Name); err != nil {
		return nil, err
	}
	c.Saved, _ = time.Parse(time.RFC3339, a[annotationSaved]) // only informative
	if text := a[annotationQuarantine]; text != "" && len(text) <= maxQuarantineJSONBytes {
		var q Quarantine
		if json.Unmarshal([]byte(text), &q) == nil && q.ModuleDigest == c.ModuleDigest && q.PolicyHash == c.Policy.Hash() {
			c.Quarantine = &q
		}
	}
	return c, nil
}
