;; SPDX-License-Identifier: Apache-2.0
;;
;; A start function that never ends, in a module without a memory.
(module
  (func $start (loop $l (br $l)))
  (start $start)
)
