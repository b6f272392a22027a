;; SPDX-License-Identifier: Apache-2.0
;;
;; A guest whose start function calls the host, which may end it.
(module
  (import "env" "started" (func $started (param i32)))
  (memory (export "memory") 1 1)
  (data (i32.const 16) "here")
  (func $start (call $started (i32.const 16)))
  (start $start)
)
