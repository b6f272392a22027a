// SPDX-License-Identifier: Apache-2.0

package data

import (
	"context"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// sharedInformer is a resource that the scheduler may watch for itself.
type sharedInformer struct {
	kind     reflect.Type
	informer func(f informers.SharedInformerFactory) cache.SharedIndexInformer
}

// sharedInformers are the resources that are read from the scheduler's own
// informers where it runs them, so that policies see them as its plugins do and
// the API server serves them once.
var sharedInformers = map[string]*sharedInformer{
	"v1/namespaces": {reflect.TypeFor[*v1.Namespace](), func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().Namespaces().Informer()
	}},
	"v1/persistentvolumeclaims": {reflect.TypeFor[*v1.PersistentVolumeClaim](), func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().PersistentVolumeClaims().Informer()
	}},
	"v1/persistentvolumes": {reflect.TypeFor[*v1.PersistentVolume](), func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Core().V1().PersistentVolumes().Informer()
	}},
	"storage.k8s.io/v1/storageclasses": {reflect.TypeFor[*storagev1.StorageClass](), func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Storage().V1().StorageClasses().Informer()
	}},
	"policy/v1/poddisruptionbudgets": {reflect.TypeFor[*policyv1.PodDisruptionBudget](), func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Policy().V1().PodDisruptionBudgets().Informer()
	}},
	"scheduling.k8s.io/v1/priorityclasses": {reflect.TypeFor[*schedulingv1.PriorityClass](), func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
		return f.Scheduling().V1().PriorityClasses().Informer()
	}},
}

// startWait is how long the scheduler may take to start its informers, which it
// does after it made its plugins.
const startWait = 5 * time.Second

// schedulers is the scheduler's informer of a resource, nil if it runs none.
func (in *Informers) schedulers(ctx context.Context, resource string) cache.SharedIndexInformer {
	s := sharedInformers[resource]
	if s == nil || in.shared == nil {
		return nil
	}
	ended, end := context.WithCancel(ctx)
	end()
	deadline := time.After(startWait)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		started := in.shared.WaitForCacheSync(ended.Done()) // a look, not a wait
		if _, ok := started[s.kind]; ok {
			return s.informer(in.shared)
		}
		if _, ok := started[reflect.TypeFor[*v1.Pod]()]; ok {
			return nil // all that it runs are started together
		}
		select {
		case <-ctx.Done():
			return nil
		case <-deadline:
			return nil
		case <-tick.C:
		}
	}
}
