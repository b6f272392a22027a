// SPDX-License-Identifier: Apache-2.0

// Package view turns the scheduler's objects into what guests read: view
// records (package abi) of a NodeInfo or a Pod, and value records of JSON-like
// trees.
//
//	NodeInfo, Pod --> Encoder --> record --> copied into every instance
//	                     |
//	              intern.Table (ids; the tail of the table follows it)
//
// A policy version has one table for each epoch and an Encoder for each
// goroutine that encodes:
//
//	table := intern.New(1<<20, 1<<16)
//	enc := view.NewEncoder(table, description.Reads)
//	rec, err := enc.Node(buf[:0], nodeInfo)
//
// The same content gives the same bytes as long as the table lives: maps are
// written sorted, heartbeats and resource versions are left out. Nothing in an
// object can make an Encoder panic; what doesn't fit its limits is an error.
package view
