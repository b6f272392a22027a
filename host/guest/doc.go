// SPDX-License-Identifier: Apache-2.0

// Package guest drives one running copy of a policy module: the host's side of
// the ABI.
//
//	New       instantiate, _initialize, abi_version, working memory
//	Describe  what the guest says of itself
//	Configure the operator's config
//	Call      one call of a point: frame in, result out
//	Close
//
// An Instance is for one goroutine at a time. Everything that comes out of
// guest memory is copied once and checked before use; addresses, lengths and
// versions that the host needs again are its own shadow and are never read
// back. After any Fault the instance is dead: the caller closes it and takes a
// new one.
package guest
