// SPDX-License-Identifier: Apache-2.0

package abi

// Major and Minor are this package's ABI version. A host accepts a guest whose
// major is its own and whose minor is not newer. Adding a section, an import, a
// point or an enumeration value raises Minor; anything else raises Major.
const (
	Major = 1
	Minor = 0
)

// Module is the import module of Berth's host functions. A guest may import
// from it and from WASIModule, and from nothing else.
const (
	Module     = "berth"
	WASIModule = "wasi_snapshot_preview1"
)

// DescribeSection is the custom section that repeats, byte for byte, the value
// record that describe returns.
const DescribeSection = "berth.describe"

// PackVersion is what a guest's abi_version export returns.
func PackVersion(major, minor uint16) uint32 { return uint32(major)<<16 | uint32(minor) }

// CheckVersion says whether this host can run a guest that answered v to
// abi_version. The error names both versions.
func CheckVersion(v uint32) error {
	major, minor := v>>16, v&0xffff
	if major != Major || minor > Minor {
		return versionError(v)
	}
	return nil
}

// versionError is the answer to a guest of another ABI version.
type versionError uint32

func (e versionError) Error() string {
	dot := func(major, minor uint64) string { return itoa(major) + "." + itoa(minor) }
	return "abi version: want " + dot(Major, 0) + " to " + dot(Major, Minor) + ", got " + dot(uint64(e>>16), uint64(e&0xffff))
}
