// SPDX-License-Identifier: Apache-2.0

// Package lab runs a small Kubernetes on one machine, for tests and for trying
// things out: a real etcd and a real kube-apiserver inside this process, nodes
// that exist only as objects, a simulated kubelet that runs the pods bound to
// them, and schedulers as child processes.
//
//	this process                                  child processes
//	┌──────────────────────────────────────┐      ┌──────────────────────┐
//	│ etcd ◄─unix socket─ kube-apiserver ◄─┼─TLS──┤ kube-scheduler       │
//	│                       ▲        ▲     │      │ (this binary, again) │
//	│          simulated kubelet    test   │      ├──────────────────────┤
//	└──────────────────────────────────────┘      │ berth-scheduler      │
//	                                              └──────────────────────┘
//
// A cluster lives until its context ends or Stop is called; either way its
// children are ended first and its files are removed last:
//
//	func TestMain(m *testing.M) { lab.MainHook(); os.Exit(m.Run()) }
//
//	c, err := lab.Start(ctx, lab.Options{})
//	defer c.Stop()
//	err = c.CreateNodes(ctx, lab.Nodes("node", 10, lab.Label("zone", "a", "b")))
//	err = c.StartKubelet(lab.KubeletOptions{})
//	s, err := c.StartScheduler(ctx, lab.SchedulerOptions{})
//
// Several clusters may run in one process at once. What is missing compared
// with a real cluster is the controller manager: no Deployment makes pods, no
// deleted namespace goes away, no namespace gets a default ServiceAccount, and
// the aggregated roles (view, edit, admin) are empty.
package lab
