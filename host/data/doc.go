// SPDX-License-Identifier: Apache-2.0

// Package data keeps what policies read beside the scheduler's snapshot: the
// objects of declared resources, and data sets that are fetched in the
// background.
//
//	API server --watch--> Set of one (resource, selector, fields) --+
//	scheduler's informers ------------^                             +--> Lease of a version: Get, List
//	metrics.k8s.io, Prometheus --every interval--> Fetched ---------+--> Value
//
// A Set and a Fetched live while anyone holds them: versions of one policy, and
// policies that ask for the same, share one. Reading takes a lock in memory and
// nothing else; no reader ever waits for the network.
package data
