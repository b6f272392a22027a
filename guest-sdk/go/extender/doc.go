// SPDX-License-Identifier: Apache-2.0

// Package extender runs the logic of an HTTP extender of kube-scheduler as a
// policy. Its verbs keep their argument shapes: filter and prioritize get the
// nodes as one list and answer for all of them at once, preempt gets a map from
// node to victims. What is gone is the HTTP server, the JSON, and the time-out.
//
//	func init() { berth.Register(&policy, extender.Plugin(&licences{})) }
//
// A type implements those of [Filterer], [Prioritizer] and [Preempter] that the
// extender's configuration had verbs for.
//
// Two things differ. An extender is asked about the nodes that passed all of the
// scheduler's filters, this one about every node of the cluster, before them: a
// verdict about one node mustn't depend on which others are in the list. And
// nodes are [berth.Node], of which the policy declares the parts it reads.
package extender
