;; SPDX-License-Identifier: Apache-2.0
;;
;; memory.fill and memory.copy of any length, which weaving cuts into pieces.
(module
  (memory (export "memory") 64 64)
  (func (export "fill") (param i32 i32 i32) (memory.fill (local.get 0) (local.get 1) (local.get 2)))
  (func (export "copy") (param i32 i32 i32) (memory.copy (local.get 0) (local.get 1) (local.get 2)))
)
