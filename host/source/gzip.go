// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

// Gunzip decompresses data to at most limit bytes.
func Gunzip(data []byte, limit int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("gunzip: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	switch {
	case len(raw) > limit:
		return nil, fmt.Errorf("gunzip: want at most %d bytes, got more", limit)
	case err != nil:
		return nil, fmt.Errorf("gunzip: %w", err)
	}
	return raw, nil
}

// Gzip compresses data as far as gzip can; the same data gives the same bytes.
func Gzip(data []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is valid
	}
	_, _ = w.Write(data) // a Buffer doesn't fail
	_ = w.Close()
	return b.Bytes()
}
