;; SPDX-License-Identifier: Apache-2.0
;;
;; A guest with one export for each thing that the engine's tests look at.
(module
  (import "env" "add" (func $add (param i32 i32) (result i32)))
  (import "env" "fail" (func $fail (param i32)))
  (type $sig (func (param i32) (result i32)))
  (memory (export "memory") 1 4)
  (table 2 funcref)
  (elem (i32.const 0) $nop)
  (global (export "cell") (mut i64) (i64.const 7))
  (global (export "constant") i64 (i64.const 8))
  (global $i (export "i32") (mut i32) (i32.const -1))

  (func $nop)
  (func (export "empty") (param i32) (result i32) (local.get 0))
  (func (export "add") (param i32 i32) (result i32) (call $add (local.get 0) (local.get 1)))
  (func (export "fail") (param i32) (call $fail (local.get 0)))
  (func (export "swap") (param i32 i64) (result i64 i32) (local.get 1) (local.get 0))
  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
  (func (export "peek") (param i32) (result i32) (i32.load8_u (local.get 0)))

  (func (export "unreachable") unreachable)
  (func (export "outside") (drop (i32.load (i32.const -4))))
  (func (export "null") (call_indirect (i32.const 1)))
  (func (export "no_entry") (call_indirect (i32.const 9)))
  (func (export "call_type") (drop (call_indirect (type $sig) (i32.const 1) (i32.const 0))))
  (func (export "divide") (param i32) (result i32) (i32.div_s (i32.const 1) (local.get 0)))
  (func (export "convert") (param f64) (result i32) (i32.trunc_f64_s (local.get 0)))
  (func $recurse (export "recurse") (call $recurse))
)
