// SPDX-License-Identifier: Apache-2.0

// Package host is Berth's part of a scheduler: the framework plugin, and the
// policies that decide behind it.
//
//	ConfigMaps, files --source--> manager --module, guest--> version
//	                                 |                          |
//	                                 +------ active set --------+   swapped as one pointer
//	                                             |
//	  framework --PreFilter--> cycle: which policies match, on which versions
//	            --Filter-----> chunk of node views -> guest -> verdicts, cached in the cycle
//	            --PreScore, Score, NormalizeScore--> raw scores by policy -> one score
//
// A Host belongs to one scheduler. The manager loads policies in its own
// goroutines; serial cycles read the active set once, at PreFilter, and keep
// the versions of it until they end. A version has one instance for them,
// behind one lock. What the framework asks node by node is answered from the
// cycle's cache after the first question about a chunk.
//
// Files are named after what is in them: prefilter.go, filter.go, score.go and
// normalize.go hold the points; gate.go, sign.go and events.go what runs under
// the queue's lock; cycle.go and version.go what they share; manager.go and
// slot.go how policies come and go.
package host
