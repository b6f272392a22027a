// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/host/policy"
)

// Args are the plugin's arguments in a scheduler configuration, kind BerthArgs.
// They concern the process, so every profile must give the same.
type Args struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// PolicyNamespace is where ConfigMaps with the label berth.dev/policy are
	// policies. Empty reads no ConfigMaps.
	PolicyNamespace string `json:"policyNamespace,omitempty"`
	// StateNamespace is where the scheduler keeps last-good copies and the
	// status. Empty keeps neither.
	StateNamespace string `json:"stateNamespace,omitempty"`
	// PolicyDir is a directory whose sub-directories are policies. Empty reads
	// none.
	PolicyDir string `json:"policyDir,omitempty"`
	// StartDeadlineSeconds is how long pods are held at start for the first
	// policies. The default is 60.
	StartDeadlineSeconds int32 `json:"startDeadlineSeconds,omitempty"`
	// PodUpdateEvents also requeues rejected pods on general updates of pods,
	// which costs a walk over all unschedulable pods for each.
	PodUpdateEvents bool `json:"podUpdateEvents,omitempty"`
	// MaxPermitWaitSeconds is the longest that a policy may hold a pod in
	// Permit, where the pod occupies its node and its cycle keeps its versions.
	// The default is 600.
	MaxPermitWaitSeconds int32 `json:"maxPermitWaitSeconds,omitempty"`
	// CredentialsDir is the directory of the files that a policy.yaml may name to
	// fetch a data set: tokens, authorities. Empty allows none.
	CredentialsDir string `json:"credentialsDir,omitempty"`
}

const (
	argsKind             = "BerthArgs"
	defaultStartDeadline = 60
	maxStartDeadline     = 3600
	defaultPermitWait    = 600
	maxPermitWait        = 900 // the framework's own limit
)

// parseArgs reads the plugin's arguments. No arguments are the defaults.
func parseArgs(obj runtime.Object) (Args, error) {
	args := Args{APIVersion: policy.APIVersion, Kind: argsKind}
	if obj != nil {
		u, ok := obj.(*runtime.Unknown)
		if !ok {
			return args, fmt.Errorf("arguments of plugin %s: want %s, got %T", Name, argsKind, obj)
		}
		if err := yaml.UnmarshalStrict(u.Raw, &args); err != nil {
			return args, fmt.Errorf("arguments of plugin %s: %w", Name, err)
		}
	}
	if args.StartDeadlineSeconds == 0 {
		args.StartDeadlineSeconds = defaultStartDeadline
	}
	if args.MaxPermitWaitSeconds == 0 {
		args.MaxPermitWaitSeconds = defaultPermitWait
	}
	return args, args.check()
}

func (a Args) check() error {
	if a.APIVersion != policy.APIVersion || a.Kind != argsKind {
		return fmt.Errorf("arguments of plugin %s: want %s %s, got %s %s", Name, policy.APIVersion, argsKind, a.APIVersion, a.Kind)
	}
	for _, f := range []struct{ field, value string }{{"policyNamespace", a.PolicyNamespace}, {"stateNamespace", a.StateNamespace}} {
		if f.value == "" {
			continue
		}
		if problems := validation.IsDNS1123Label(f.value); len(problems) > 0 {
			return fmt.Errorf("arguments of plugin %s: %s: want a namespace, got %q", Name, f.field, f.value)
		}
	}
	if a.PolicyNamespace != "" && a.PolicyNamespace == a.StateNamespace {
		return fmt.Errorf("arguments of plugin %s: stateNamespace: want another than policyNamespace, where the scheduler only reads, got %q", Name, a.StateNamespace)
	}
	if s := a.StartDeadlineSeconds; s < 1 || s > maxStartDeadline {
		return fmt.Errorf("arguments of plugin %s: startDeadlineSeconds: want 1 to %d, got %d", Name, maxStartDeadline, s)
	}
	if s := a.MaxPermitWaitSeconds; s < 1 || s > maxPermitWait {
		return fmt.Errorf("arguments of plugin %s: maxPermitWaitSeconds: want 1 to %d, got %d", Name, maxPermitWait, s)
	}
	return nil
}

func (a Args) maxPermitWait() time.Duration {
	return time.Duration(a.MaxPermitWaitSeconds) * time.Second
}

func (a Args) startDeadline() time.Duration {
	return time.Duration(a.StartDeadlineSeconds) * time.Second
}
