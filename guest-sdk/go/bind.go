// SPDX-License-Identifier: Apache-2.0

package berth

// PreBindPreFlightPlugin spares PreBind where it has nothing to do.
type PreBindPreFlightPlugin interface {
	// PreBindPreFlight returns Skip if PreBind has nothing to do for the pod.
	PreBindPreFlight(c *Cycle, pod Pod, node string) *Status
}

// PreBindPlugin prepares a pod's binding.
type PreBindPlugin interface {
	// PreBind may change the pod's labels and annotations before it is bound, by
	// PatchLabels and its like. A failure sends the pod back to the queue.
	PreBind(c *Cycle, pod Pod, node string) *Status
}

// BindPlugin binds pods.
type BindPlugin interface {
	// Bind asks for the binding by BindPod, or returns Skip to leave it to the
	// next binder.
	Bind(c *Cycle, pod Pod, node string) *Status
}

// PostBindPlugin is told of pods that were bound.
type PostBindPlugin interface {
	PostBind(c *Cycle, pod Pod, node string)
}
