// SPDX-License-Identifier: Apache-2.0

// Package host is the generic scheduler plugin: it offers the points of the
// scheduling framework to policies.
package host
