// SPDX-License-Identifier: Apache-2.0

// Package e2e holds the tests that need a real API server: berth-scheduler as
// its own process, policies in ConfigMaps, pods whose placement is read back
// from the API server. They share one cluster of test/lab; each test has its
// own scheduler name and namespaces. Those of the examples, a file each, are in a
// gallery, which has nodes of its own, too.
package e2e
