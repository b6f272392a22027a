// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	componentbaseconfig "k8s.io/component-base/config/v1alpha1"
	"k8s.io/component-base/featuregate"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
)

const (
	defaultLease       = "berth-scheduler"
	kubeSchedulerLease = "kube-scheduler"

	leaseFlag          = "leader-elect-resource-name"
	leaseNamespaceFlag = "leader-elect-resource-namespace"
	electFlag          = "leader-elect"
	electSection       = "leader election" // upstream's section of flags
)

// setDefaultLease makes the default lease name ours in the flag and its help.
func setDefaultLease(opts *options.Options) {
	opts.LeaderElection.ResourceName = defaultLease
	opts.Flags.FlagSet(electSection).Lookup(leaseFlag).DefValue = defaultLease
}

// chooseLease decides the lease name before upstream's defaults do, which fill
// in kube-scheduler: a flag that was given, then the configuration file, then
// ours. Upstream applies a leader-election flag only if it was given, also
// over a file, so our default is given as if on the command line.
//
// It is an error to stand for the lease of the cluster's kube-scheduler unless
// that is allowed: one of the two would never schedule.
func chooseLease(opts *options.Options, gate featuregate.FeatureGate, allowKubeScheduler bool) error {
	file, err := electionInFile(opts.ConfigFile)
	if err != nil {
		return fmt.Errorf("config %q: %w", opts.ConfigFile, err)
	}
	flags := opts.Flags.FlagSet(electSection)

	elect := opts.LeaderElection.LeaderElect
	if !flags.Changed(electFlag) && file.LeaderElect != nil {
		elect = *file.LeaderElect
	}
	namespace := opts.LeaderElection.ResourceNamespace
	if !flags.Changed(leaseNamespaceFlag) && file.ResourceNamespace != "" {
		namespace = file.ResourceNamespace
	}
	name := opts.LeaderElection.ResourceName
	if !flags.Changed(leaseFlag) {
		if file.ResourceName != "" {
			name = file.ResourceName
		} else if err := flags.Set(leaseFlag, name); err != nil {
			return err
		}
	}

	if !elect {
		return nil
	}
	if name == kubeSchedulerLease && !allowKubeScheduler {
		return fmt.Errorf("lease name %q is that of the cluster's own scheduler, and one of two schedulers that share a lease stands still: "+
			"set --%s (or leaderElection.resourceName) to another name, or give --berth-allow-kube-scheduler-lease if Berth replaces kube-scheduler",
			name, leaseFlag)
	}
	own := name == kubeSchedulerLease && namespace == metav1.NamespaceSystem
	if gate.Enabled(features.CoordinatedLeaderElection) && !own {
		return fmt.Errorf("feature gate %s always stands for the lease %s/%s, want %s/%s: "+
			"turn the gate off, or use the former with --berth-allow-kube-scheduler-lease if Berth replaces kube-scheduler",
			features.CoordinatedLeaderElection, metav1.NamespaceSystem, kubeSchedulerLease, namespace, name)
	}
	return nil
}

// electionInFile is what the configuration file says about leader election,
// before any default; nothing if there is no file.
func electionInFile(path string) (componentbaseconfig.LeaderElectionConfiguration, error) {
	none := componentbaseconfig.LeaderElectionConfiguration{}
	if path == "" {
		return none, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return none, err
	}
	// The universal deserializer is strict, but applies no defaults.
	object, kind, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return none, err
	}
	config, ok := object.(*configv1.KubeSchedulerConfiguration)
	if !ok {
		return none, fmt.Errorf("got %s, want %s", kind, configv1.SchemeGroupVersion.WithKind("KubeSchedulerConfiguration"))
	}
	return config.LeaderElection, nil
}
