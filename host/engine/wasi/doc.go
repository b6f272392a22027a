// SPDX-License-Identifier: Apache-2.0

// Package wasi is as much of WASI preview 1 as a guest may have: what it prints
// becomes log lines, the clock stands still during a call, random numbers are
// the same in every run, and there are no files, sockets, arguments,
// environment variables and no sleep.
//
// Every function of wasi_snapshot_preview1 is there, so that any Go program can
// be linked; those without a meaning here answer EBADF.
//
//	state := wasi.NewState(wasi.Options{Line: log})
//	inst, err := m.Instantiate(ctx, engine.InstanceOptions{Data: state}) // or a Holder of it
//	state.SetClock(now)                                                  // before each call
//	if err := f.Call(stack); err != nil {
//		log(err, state.Tail())
//	}
//
// A pointer or length outside memory is answered with EFAULT, never with more
// than an errno. Host functions charge the fuel of a woven module for what they
// do, and end the call when it is used up.
package wasi
