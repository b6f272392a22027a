// SPDX-License-Identifier: Apache-2.0

//go:build broken

package main

var _ = nothing
