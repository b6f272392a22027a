;; SPDX-License-Identifier: Apache-2.0
;;
;; Declares an intent that needs a grant, which policy.yaml must give.
(module
  (memory (export "memory") 4)
  (global $top (mut i32) (i32.const 8192))
  ;; describe: {"name":"broken","version":"1","minor":0,"points":["filter"],"intents":["evict"]}
  (data (i32.const 1024) "\e8\00\00\00\00\00\00\00\06\00\00\00\05\00\00\00\18\00\00\00\00\00\00\00\90\00\00\00\07\00\00\00\05\00\00\00\01\00\00\00\98\00\00\00\00\00\00\00\ad\00\00\00\05\00\00\00\02\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\b2\00\00\00\04\00\00\00\04\00\00\00\06\00\00\00\b6\00\00\00\00\00\00\00\bc\00\00\00\06\00\00\00\05\00\00\00\01\00\00\00\c8\00\00\00\00\00\00\00\de\00\00\00\07\00\00\00\04\00\00\00\01\00\00\00\e5\00\00\00\00\00\00\00intents\00\04\00\00\00\05\00\00\00\a8\00\00\00\00\00\00\00evictminornamebrokenpoints\00\00\00\00\00\00\04\00\00\00\06\00\00\00\d8\00\00\00\00\00\00\00filterversion1\00\00")
  (func (export "abi_version") (result i32) (i32.const 0x10000))
  (func (export "free") (param i32))
  (func (export "alloc") (param $size i32) (result i32)
    (local $p i32)
    (local.set $p (global.get $top))
    (global.set $top (i32.add (local.get $p) (local.get $size)))
    (local.get $p))
  (func (export "describe") (param $f i32) (result i32)
    (local $r i32)
    (local.set $r (i32.load offset=60 (local.get $f)))
    (i32.store (local.get $r) (i32.const 0))
    (i32.store offset=32 (local.get $r) (i32.const 1024))
    (i32.store offset=36 (local.get $r) (i32.load (i32.const 1024)))
    (i32.const 0))
  (func (export "filter") (param $f i32) (result i32)
    (i32.store (i32.load offset=60 (local.get $f)) (i32.const 0))
    (i32.const 0)))
