// SPDX-License-Identifier: Apache-2.0

package wasi

import (
	"encoding/binary"
)

// maxVectors is the most buffers of one fd_write, as IOV_MAX is elsewhere.
const maxVectors = 1024

// fdWrite is fd_write(fd, iovs, iovs_len, written) -> errno: prints.
//
//	fd        1 for stdout, 2 for stderr
//	iovs      pairs of u32, pointer and length of a buffer each
//	iovs_len  pairs, at most 1,024
//	written   where the number of bytes goes, a u32
//
// Two buffers:
//
//	iovs                                     written
//	[18 00 00 00 02 00 00 00]                [05 00 00 00]
//	[1a 00 00 00 03 00 00 00]
//	       0x18: 'h' 'i' ' ' 'y' 'o'
//
// All bytes count as written, those too that the limits drop. EBADF for other
// descriptors, EINVAL for too many or too long buffers, EFAULT if something is
// not inside memory; then nothing is printed.
var fdWrite = define(func(c *call) (errno, error) {
	fd, iovs, count, written := c.u32(0), c.u32(1), c.u32(2), c.u32(3)
	if fd != uint32(Stdout) && fd != uint32(Stderr) {
		return ebadf, nil
	}
	if count > maxVectors {
		return einval, nil
	}
	vectors, ok := c.mem.Read(iovs, count*8)
	if !ok {
		return efault, nil
	}
	// The guest may have put iovs, buffers and written into each other's place:
	// look at everything before the first byte is written.
	if _, ok := c.mem.Read(written, 4); !ok {
		return efault, nil
	}
	var total uint64
	for v := vectors; len(v) > 0; v = v[8:] {
		_, ok := c.mem.Read(binary.LittleEndian.Uint32(v), binary.LittleEndian.Uint32(v[4:]))
		if !ok {
			return efault, nil
		}
		total += uint64(binary.LittleEndian.Uint32(v[4:]))
	}
	if total > 1<<31 {
		return einval, nil
	}
	if !c.state.spend(int64(8*count) + int64(min(total, MaxCallBytes+uint64(count)*TailBytes))) {
		return 0, errFuel
	}
	for v := vectors; len(v) > 0; v = v[8:] {
		data, _ := c.mem.Read(binary.LittleEndian.Uint32(v), binary.LittleEndian.Uint32(v[4:]))
		c.state.print(Stream(fd), data)
	}
	c.putU32(written, uint32(total))
	return esuccess, nil
}, "fd_write", "prints to stdout or stderr, which become log lines", i32, i32, i32, i32)

// fdFdstatGet is fd_fdstat_get(fd, stat) -> errno: what a descriptor is.
//
//	fd    1 or 2
//	stat  where 24 bytes go: a character device that may be written
//
//	      type    flags                   rights                  inherited
//	[02 00] [00 00 00 00 00 00] [40 00 00 00 00 00 00 00] [00 00 00 00 00 00 00 00]
//
// EBADF for other descriptors, EFAULT if stat is not inside memory.
var fdFdstatGet = define(func(c *call) (errno, error) {
	if fd := Stream(c.u32(0)); fd != Stdout && fd != Stderr {
		return ebadf, nil
	}
	const characterDevice, mayWrite = 2, 1 << 6
	stat := [24]byte{0: characterDevice, 8: mayWrite}
	if !c.mem.Write(c.u32(1), stat[:]) {
		return efault, nil
	}
	return esuccess, nil
}, "fd_fdstat_get", "what a descriptor is: stdout and stderr are terminals", i32, i32)

// noFiles are the functions that need a file or a socket. There are none, and
// no descriptor stands for one: each answers EBADF and touches no memory.
var noFiles = []function{
	define(errnoOf(ebadf), "fd_advise", "no files", i32, i64, i64, i32),
	define(errnoOf(ebadf), "fd_allocate", "no files", i32, i64, i64),
	define(errnoOf(ebadf), "fd_close", "no files", i32),
	define(errnoOf(ebadf), "fd_datasync", "no files", i32),
	define(errnoOf(ebadf), "fd_fdstat_set_flags", "no files", i32, i32),
	define(errnoOf(ebadf), "fd_fdstat_set_rights", "no files", i32, i64, i64),
	define(errnoOf(ebadf), "fd_filestat_get", "no files", i32, i32),
	define(errnoOf(ebadf), "fd_filestat_set_size", "no files", i32, i64),
	define(errnoOf(ebadf), "fd_filestat_set_times", "no files", i32, i64, i64, i32),
	define(errnoOf(ebadf), "fd_pread", "no files", i32, i32, i32, i64, i32),
	define(errnoOf(ebadf), "fd_prestat_dir_name", "no directories are open at the start", i32, i32, i32),
	define(errnoOf(ebadf), "fd_prestat_get", "no directories are open at the start", i32, i32),
	define(errnoOf(ebadf), "fd_pwrite", "no files", i32, i32, i32, i64, i32),
	define(errnoOf(ebadf), "fd_read", "no files, stdin included", i32, i32, i32, i32),
	define(errnoOf(ebadf), "fd_readdir", "no files", i32, i32, i32, i64, i32),
	define(errnoOf(ebadf), "fd_renumber", "no files", i32, i32),
	define(errnoOf(ebadf), "fd_seek", "no files", i32, i64, i32, i32),
	define(errnoOf(ebadf), "fd_sync", "no files", i32),
	define(errnoOf(ebadf), "fd_tell", "no files", i32, i32),
	define(errnoOf(ebadf), "path_create_directory", "no files", i32, i32, i32),
	define(errnoOf(ebadf), "path_filestat_get", "no files", i32, i32, i32, i32, i32),
	define(errnoOf(ebadf), "path_filestat_set_times", "no files", i32, i32, i32, i32, i64, i64, i32),
	define(errnoOf(ebadf), "path_link", "no files", i32, i32, i32, i32, i32, i32, i32),
	define(errnoOf(ebadf), "path_open", "no files", i32, i32, i32, i32, i32, i64, i64, i32, i32),
	define(errnoOf(ebadf), "path_readlink", "no files", i32, i32, i32, i32, i32, i32),
	define(errnoOf(ebadf), "path_remove_directory", "no files", i32, i32, i32),
	define(errnoOf(ebadf), "path_rename", "no files", i32, i32, i32, i32, i32, i32),
	define(errnoOf(ebadf), "path_symlink", "no files", i32, i32, i32, i32, i32),
	define(errnoOf(ebadf), "path_unlink_file", "no files", i32, i32, i32),
	define(errnoOf(ebadf), "sock_accept", "no sockets", i32, i32, i32),
	define(errnoOf(ebadf), "sock_recv", "no sockets", i32, i32, i32, i32, i32, i32),
	define(errnoOf(ebadf), "sock_send", "no sockets", i32, i32, i32, i32, i32),
	define(errnoOf(ebadf), "sock_shutdown", "no sockets", i32, i32),
}
