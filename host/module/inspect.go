// SPDX-License-Identifier: Apache-2.0

package module

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/host/weave"
)

// Info is what can be said of a module without running it.
type Info struct {
	// Digest is "sha256:" and the hex SHA-256 of the module as given.
	Digest string
	// Size is the module's size in bytes, as given.
	Size int
	// Shape is what the limits against compile bombs look at.
	Shape weave.Shape
	// Interface is what it imports and exports.
	Interface *weave.Interface
	// Points are the points whose functions it exports.
	Points []abi.Point
	// Section is the content of berth.describe, a value record, and Description
	// what it says. Both are nil if there is no such section; Description alone
	// is nil if it can't be read, which is one of Problems.
	Section     []byte
	Description *abi.Description
	// Warnings are what the host accepts but doesn't like, a line each.
	Warnings []string
	// Problems are what the host refuses it for, a line each.
	Problems Problems

	woven []byte
}

// Inspect reads a module without running it. The error says why the bytes can't
// be read as a module at all; what else is wrong is in Info.Problems.
func Inspect(wasm []byte, limits weave.Limits) (*Info, error) {
	if len(wasm) > limits.ModuleBytes {
		return nil, &weave.LimitError{Where: "module", Limit: "bytes", Want: int64(limits.ModuleBytes), Got: int64(len(wasm))}
	}
	sum := sha256.Sum256(wasm)
	info := &Info{Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: len(wasm)}
	var err error
	if info.Interface, err = weave.ParseInterface(wasm); err != nil {
		return nil, err
	}
	info.Points = pointsOf(info.Interface)
	info.Problems = checkInterface(info.Interface)
	if err := info.readSection(wasm); err != nil {
		return nil, err
	}
	switch woven, err := weave.Weave(wasm, limits); {
	case err != nil:
		info.Problems.add("%v", err)
	default:
		info.Shape, info.woven = woven.Shape, woven.Wasm
	}
	return info, nil
}

func (info *Info) readSection(wasm []byte) error {
	section, found, err := weave.CustomSection(wasm, abi.DescribeSection)
	if err != nil {
		return err
	}
	if !found {
		info.Warnings = append(info.Warnings, fmt.Sprintf(
			"no section %s: what the module reads isn't known before it runs; build it with berth build", abi.DescribeSection))
		return nil
	}
	info.Section = section
	d, err := abi.ParseDescription(section)
	if err != nil {
		info.Problems.add("section %s: %v", abi.DescribeSection, err)
		return nil
	}
	info.Description = d
	info.Problems = append(info.Problems, checkDescription(d, info.Interface)...)
	return nil
}
