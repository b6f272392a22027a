;; SPDX-License-Identifier: Apache-2.0
;;
;; Declares a resource, which policy.yaml must grant.
(module
  (memory (export "memory") 4)
  (global $top (mut i32) (i32.const 8192))
  ;; describe: {"name":"broken","version":"1","minor":0,"points":["filter"],"resources":[{"resource":"v1/configmaps"}]}
  (data (i32.const 1024) "\10\01\00\00\00\00\00\00\06\00\00\00\05\00\00\00\18\00\00\00\00\00\00\00\90\00\00\00\05\00\00\00\02\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\95\00\00\00\04\00\00\00\04\00\00\00\06\00\00\00\99\00\00\00\00\00\00\00\9f\00\00\00\06\00\00\00\05\00\00\00\01\00\00\00\a8\00\00\00\00\00\00\00\be\00\00\00\09\00\00\00\05\00\00\00\01\00\00\00\c8\00\00\00\00\00\00\00\05\01\00\00\07\00\00\00\04\00\00\00\01\00\00\00\0c\01\00\00\00\00\00\00minornamebrokenpoints\00\00\00\04\00\00\00\06\00\00\00\b8\00\00\00\00\00\00\00filterresources\00\06\00\00\00\01\00\00\00\d8\00\00\00\00\00\00\00\f0\00\00\00\08\00\00\00\04\00\00\00\0d\00\00\00\f8\00\00\00\00\00\00\00resourcev1/configmapsversion1\00\00\00")
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
