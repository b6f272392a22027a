// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"io/fs"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/berth-scheduler/berth/host/policy"
)

// Labels and annotations of a policy's ConfigMap.
const (
	// LabelPolicy makes a ConfigMap a policy, whatever its value is.
	LabelPolicy = "berth.dev/policy"
	// LabelSuspend turns the policy off; any value but "false" does.
	LabelSuspend = "berth.dev/suspend"
	// LabelFailurePolicy is Fail or Ignore: see Document.FailurePolicy.
	LabelFailurePolicy = "berth.dev/failure-policy"
	// AnnotationMatch is a label selector: see Document.Match.
	AnnotationMatch = "berth.dev/match"
)

// ConfigMaps is the source of the labelled ConfigMaps of a namespace.
type ConfigMaps struct {
	namespace string
	informer  cache.SharedIndexInformer
	firstList

	mu      sync.Mutex
	lastErr error // of the last list or watch that failed
}

var _ Source = (*ConfigMaps)(nil)

// NewConfigMaps returns the source of the ConfigMaps in namespace that carry
// [LabelPolicy]. The client may list and watch ConfigMaps there.
func NewConfigMaps(client kubernetes.Interface, namespace string) *ConfigMaps {
	return &ConfigMaps{
		namespace: namespace,
		informer: coreinformers.NewFilteredConfigMapInformer(client, namespace, 0, cache.Indexers{},
			func(o *metav1.ListOptions) { o.LabelSelector = LabelPolicy }),
		firstList: make(firstList),
	}
}

// Run watches until ctx ends. A namespace that can't be listed is not an error:
// it is tried again with back-off, and WaitForSync says why it waits.
func (s *ConfigMaps) Run(ctx context.Context, sink Sink) error {
	logger := klog.FromContext(ctx).WithValues("source", "configmaps", "namespace", s.namespace)
	if err := s.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		s.mu.Lock()
		s.lastErr = err
		s.mu.Unlock()
		cache.DefaultWatchErrorHandler(ctx, r, err)
	}); err != nil {
		return fmt.Errorf("watch configmaps in %s: %w", s.namespace, err)
	}
	registration, err := s.informer.AddEventHandler(configMapHandler{sink, logger})
	if err != nil {
		return fmt.Errorf("watch configmaps in %s: %w", s.namespace, err)
	}
	go func() {
		select {
		case <-registration.HasSyncedChecker().Done():
			logger.Info("Policies listed", "count", len(s.informer.GetStore().ListKeys()))
			close(s.firstList)
		case <-ctx.Done():
		}
	}()
	s.informer.RunWithContext(ctx)
	return nil
}

// WaitForSync implements Source.
func (s *ConfigMaps) WaitForSync(ctx context.Context) error {
	err := s.wait(ctx)
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lastErr != nil {
		return fmt.Errorf("list configmaps in %s: %w: %v", s.namespace, err, s.lastErr)
	}
	return fmt.Errorf("list configmaps in %s: %w", s.namespace, err)
}

// configMapHandler turns the informer's calls, which come from one goroutine,
// into calls of a sink.
type configMapHandler struct {
	sink   Sink
	logger klog.Logger
}

func (h configMapHandler) OnAdd(obj any, _ bool) {
	if cm, ok := obj.(*v1.ConfigMap); ok {
		h.set(cm)
	}
}

func (h configMapHandler) OnUpdate(oldObj, newObj any) {
	old, ok := oldObj.(*v1.ConfigMap)
	cm, ok2 := newObj.(*v1.ConfigMap)
	if !ok || !ok2 {
		return
	}
	// A relist shows a deletion and creation in one, and unchanged objects again.
	if old.UID != cm.UID {
		h.sink.Delete(configMapKey(old))
	} else if old.ResourceVersion != "" && old.ResourceVersion == cm.ResourceVersion {
		return
	}
	h.set(cm)
}

func (h configMapHandler) OnDelete(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if cm, ok := obj.(*v1.ConfigMap); ok {
		h.logger.V(2).Info("Policy deleted", "configMap", klog.KObj(cm))
		h.sink.Delete(configMapKey(cm))
	}
}

func (h configMapHandler) set(cm *v1.ConfigMap) {
	d := FromConfigMap(cm)
	h.logger.V(2).Info("Policy found", "configMap", klog.KObj(cm), "resourceVersion", cm.ResourceVersion, "digest", d.ModuleDigest, "err", d.Err)
	h.sink.Set(d)
}

func configMapKey(cm *v1.ConfigMap) string {
	return "configmap/" + cm.Namespace + "/" + cm.Name
}

// FromConfigMap makes the document of a ConfigMap, which it doesn't change but
// may keep parts of.
func FromConfigMap(cm *v1.ConfigMap) Document {
	d := Assemble(cm.Name, configMapFiles{cm})
	d.Key = configMapKey(cm)
	d.UID, d.ResourceVersion = cm.UID, cm.ResourceVersion
	d.Ref = &v1.ObjectReference{
		APIVersion: "v1", Kind: "ConfigMap",
		Namespace: cm.Namespace, Name: cm.Name,
		UID: cm.UID, ResourceVersion: cm.ResourceVersion,
	}
	d.Seen = time.Now()

	warn := func(format string, args ...any) { d.Warnings = append(d.Warnings, fmt.Sprintf(format, args...)) }
	if value, ok := cm.Labels[LabelSuspend]; ok {
		d.Suspend = value != "false"
	}
	if value, ok := cm.Labels[LabelFailurePolicy]; ok {
		switch f := policy.FailurePolicy(value); f {
		case policy.Fail, policy.Ignore:
			d.FailurePolicy = f
		default:
			warn("label %s: want Fail or Ignore, got %q", LabelFailurePolicy, value)
		}
	}
	if value, ok := cm.Annotations[AnnotationMatch]; ok {
		selector, err := labels.Parse(value)
		if err != nil {
			warn("annotation %s: want a label selector, got %.64q", AnnotationMatch, value)
		} else {
			d.Match = selector
		}
	}
	return d
}

// configMapFiles are the keys of a ConfigMap.
type configMapFiles struct{ cm *v1.ConfigMap }

func (f configMapFiles) Names() []string {
	names := make([]string, 0, len(f.cm.Data)+len(f.cm.BinaryData))
	for name := range f.cm.Data {
		names = append(names, name)
	}
	for name := range f.cm.BinaryData {
		names = append(names, name)
	}
	return names
}

// Read takes text from either place: kubectl puts a policy.yaml that isn't UTF-8
// into binaryData, where the parser can say so. A module is never text.
func (f configMapFiles) Read(name string, limit int) ([]byte, error) {
	data, ok := f.cm.BinaryData[name]
	if !ok {
		text, ok := f.cm.Data[name]
		switch {
		case !ok:
			return nil, fs.ErrNotExist
		case name != PolicyFile:
			return nil, fmt.Errorf("%s: want it in binaryData (as kubectl create configmap --from-file does), got it in data", name)
		}
		data = []byte(text)
	}
	if len(data) > limit {
		return nil, fmt.Errorf("%s: want at most %d bytes, got %d", name, limit, len(data))
	}
	return data, nil
}
